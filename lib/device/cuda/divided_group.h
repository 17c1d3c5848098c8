// DividedGroup: the tables of several devices whose rows a batch reads and trains together.  The hash of a key says which
// device has its row.  Used by divided_device.cu; compiled for CUDA and for the emulator.  A device may have several
// places, each with tables and a stream of its own; the text below then means places by devices.
//
// The host gives all keys of a call to the first device, which divides them there (KeySplit).  Each device then fetches its
// keys, and whatever belongs to them, by copies between devices; the devices work at the same time, each on its own stream;
// and the first fetches the results, brings them into the order of the call, and returns them to the host.
//
// Weights and gradients of rows that have their values there (CachedRowsOptions) lie in memory of the first device already,
// where a model uses them, and do not pass the host.
//
// A call waits for the first device once, for the numbers of keys that go to each device.  After that it queues the
// work of all devices before it waits for any.
#ifndef PS_DEVICE_CUDA_DIVIDED_GROUP_H_
#define PS_DEVICE_CUDA_DIVIDED_GROUP_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "device/cuda/cached_table.h"
#include "device/cuda/divided_places.h"
#include "device/cuda/staged_array.h"
#include "device/row_device.h"
#include "gpu/device.h"
#include "table/cuda/table_group.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// The arguments of CachedRows::load.
struct RowsLoad {
  const CachedRows* rows;
  std::span<const uint64_t> keys;
  uint64_t touched;
  std::span<const uint64_t> stamps;
  std::span<const uint32_t> sources;
  std::span<const float> incoming;
};

// One owner thread.
class DividedGroup {
 public:
  // Return the bytes of device memory that the group takes for such rows: on each device, and besides on the first.
  static uint64_t bytes_at_place(const CachedRowsOptions& options);
  static uint64_t bytes_in_front(const CachedRowsOptions& options, size_t places);

  // There is a place for each device, in this order.  The first has the stream `first`, which outlives the group, or if it
  // is null, like all others, one of its own.
  explicit DividedGroup(std::vector<std::shared_ptr<gpu::Device>> devices, gpu::Stream* first = nullptr);
  ~DividedGroup();

  size_t num_places() const { return places_.size(); }
  gpu::Stream& stream(size_t place);
  uint64_t least_free_bytes() const;  // for the place with the least memory

  // Adds rows with their tables, one on each device, which stay in the group until the rows are removed.  Throws
  // kExhausted.
  void add(const CachedRows& rows, const CachedRowsOptions& options, std::vector<DeviceTable*> tables);
  void remove(const CachedRows& rows) noexcept;

  // Each call waits for all devices, and names rows at most once.  Values are in memory of the host, but for the weights of
  // read and the gradients of step of rows that have their values there.
  void look_up(std::span<const RowsLookUp> look_ups);
  void look_up_rows(const RowsLookUp& look_up, float* rows);
  void advance(std::span<const RowsAdvance> advances);
  void read(std::span<const RowsRead> reads);
  void step(std::span<const RowsStep> steps);

  // `leaving` has an element for each device.
  void load(const RowsLoad& load, std::span<LeavingRows> leaving, StampedRows& evicted);

 private:
  struct Member {
    const CachedRows* rows;
    std::vector<DeviceTable*> tables;  // by place
    CachedRowsOptions options;
    uint32_t width, row_floats;
  };

  // Values of a part of a call in memory of the first device, of which one is not null: gradients, or room for
  // weights.  Else they pass the staged array.
  struct ValuesThere {
    const float* from = nullptr;
    float* to = nullptr;

    explicit operator bool() const { return from != nullptr || to != nullptr; }
  };

  void build();
  void settle() noexcept;
  size_t index_of(const CachedRows* rows) const;
  void set_step(const CachedRows* rows, uint64_t step);
  static ValuesThere values_of(const RowsRead& read) { return {nullptr, read.weights}; }
  static ValuesThere values_of(const RowsStep& step) { return {step.gradients, nullptr}; }
  template <class Call>
  static ValuesThere values_of(const Call&) {
    return {};
  }
  template <class Call>
  void begin(std::span<const Call> calls, uint32_t Member::*floats);
  void divide();
  void lay_out(std::span<const uint64_t> scores);
  void lay_out_sources();
  bool is_on_first(size_t place) const;
  template <class Body>
  void at_places(const Body& body);
  DeviceKeys keys_at(size_t place, size_t call) const;
  float* values_at(size_t place, size_t call) const;
  template <class T>
  void fetch(size_t place, const gpu::DeviceArray<T>& to, const T* ordered, uint64_t begin, uint64_t size);
  template <class T>
  void give_back(size_t place, const gpu::DeviceArray<T>& from, T* ordered, uint64_t begin, uint64_t size);
  void fetch_values(size_t place);
  void send_load(const RowsLoad& load);
  void order_load();
  void order_steps(std::span<const RowsStep> steps);
  void return_found();
  void return_values();
  void add_to_means(DividedPlace& place, size_t number, std::span<const RowsStep> steps);
  void wait_for_all();

  std::vector<std::unique_ptr<DividedPlace>> places_;
  std::vector<Member> members_;
  std::unique_ptr<DividedFront> front_;  // null: it has to be built again, since a member was removed

  // The present call.
  std::vector<size_t> called_;          // by part of the call: its member
  std::vector<uint32_t> begins_;        // by part, and one more: its first key as given
  std::vector<ValuesThere> there_;      // by part
  std::vector<uint64_t> given_;         // by part, and one more: its first value in the staged array
  std::vector<uint32_t> widths_;        // by part: values of a row
  std::vector<uint64_t> value_begins_;  // by place, and one more: its first value in the order of owners
};

// ---- the way to the owners, for the sources of the class

// Sends the keys of all parts of a call, one behind the other, and queues their division.
template <class Call>
void DividedGroup::begin(std::span<const Call> calls, uint32_t Member::*floats) {
  if (front_ == nullptr) build();
  called_.clear(), widths_.clear(), there_.clear();
  begins_.assign(1, 0), given_.assign(1, 0);
  for (const Call& call : calls) {
    const Member& member = members_[called_.emplace_back(index_of(call.rows))];
    PS_CHECK(call.keys.size() <= member.options.most_keys);
    std::ranges::copy(call.keys, front_->keys.host.data() + begins_.back());
    widths_.push_back(member.*floats);
    begins_.push_back(begins_.back() + static_cast<uint32_t>(call.keys.size()));
    there_.push_back(member.options.values_there ? values_of(call) : ValuesThere());
    given_.push_back(given_.back() + (there_.back() ? 0 : rounded_values(call.keys.size() * widths_.back())));
  }
  gpu::Stream& stream = places_[0]->stream;
  send(stream, front_->keys, begins_.back());
  front_->split.queue(stream, front_->keys.device.data(), begins_);
}

// Copies the values [begin, begin + size) of the first device to a place, and back.
template <class T>
void DividedGroup::fetch(size_t place, const gpu::DeviceArray<T>& to, const T* ordered, uint64_t begin,
                         uint64_t size) {
  if (size == 0) return;
  gpu::Stream& stream = places_[place]->stream;
  const uint64_t bytes = size * sizeof(T);
  is_on_first(place) ? stream.copy_on_device(to.data(), ordered + begin, bytes)
                     : stream.copy_from_device(to.data(), *places_[0]->device, ordered + begin, bytes);
}

template <class T>
void DividedGroup::give_back(size_t place, const gpu::DeviceArray<T>& from, T* ordered, uint64_t begin,
                             uint64_t size) {
  if (size == 0) return;
  gpu::Stream& stream = places_[0]->stream;
  const uint64_t bytes = size * sizeof(T);
  is_on_first(place) ? stream.copy_on_device(ordered + begin, from.data(), bytes)
                     : stream.copy_from_device(ordered + begin, *places_[place]->device, from.data(), bytes);
}

// Queues the work of all places, each after its keys have come.  The first device goes on after all of them.
template <class Body>
void DividedGroup::at_places(const Body& body) {
  gpu::Stream& first = places_[0]->stream;
  first.record(front_->ready);
  for (size_t p = 0; p < places_.size(); ++p) {
    DividedPlace& place = *places_[p];
    if (p > 0) place.stream.wait(front_->ready);
    const auto begin = static_cast<uint64_t>(front_->split.owner_begin(p));
    const auto size = static_cast<uint64_t>(front_->split.owner_size(p));
    fetch(p, place.keys, front_->split.keys(), begin, size);
    body(place, p, begin, size);
    if (p > 0) place.stream.record(place.done);
  }
  for (size_t p = 1; p < places_.size(); ++p) first.wait(places_[p]->done);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_DIVIDED_GROUP_H_
