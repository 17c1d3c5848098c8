#include "table/cuda/divided_table.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/hash.h"
#include "optim/kernels/steps.h"
#include "table/cuda/batch_launches.h"
#include "table/cuda/row_access.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

using device_table::run_threads;

// The low half of the hash, since the high half chooses the bucket.
constexpr uint32_t owner_of_hash(uint64_t hash, uint32_t places) {
  return static_cast<uint32_t>((hash & 0xffffffff) * places >> 32);
}

// One thread a key: the owner of its row, and its position.
__global__ void name_owners(const uint64_t* keys, uint32_t size, uint32_t places, uint32_t* owners,
                            uint32_t* order) {
  const uint32_t i = device_table::thread_index();
  if (i >= size) return;
  owners[i] = owner_of_hash(hash_key(keys[i]), places);
  order[i] = i;
}

// One thread a key in the order of owners: gives it its place in that order.  ends [places] <- the number of keys of this
// owner and those before it; owners without keys keep what is there.
__global__ void order_keys(const uint64_t* keys, const uint32_t* positions, const uint32_t* owners,
                           uint32_t size, uint64_t* ordered, uint32_t* ends) {
  const uint32_t j = device_table::thread_index();
  if (j >= size) return;
  ordered[j] = keys[positions[j]];
  if (j + 1 == size || owners[j + 1] != owners[j]) ends[owners[j]] = j + 1;
}

// One thread a value of a row: rows in the order of owners <- rows as given, or the other way.
//   given, ordered [size, width]
__global__ void order_rows(const float* given, const uint32_t* positions, uint64_t values, uint32_t width,
                           float* ordered) {
  const uint64_t i = device_table::thread_index();
  if (i < values) ordered[i] = given[positions[i / width] * uint64_t{width} + i % width];
}

__global__ void restore_rows(const float* ordered, const uint32_t* positions, uint64_t values, uint32_t width,
                             float* given) {
  const uint64_t i = device_table::thread_index();
  if (i < values) given[positions[i / width] * uint64_t{width} + i % width] = ordered[i];
}

DeviceTableOptions options_of_part(DeviceTableOptions options, size_t places) {
  if (places == 0) fail(Code::kUsage, "divided table: no device");
  if (options.score == EvictionScore::kGiven) {
    fail(Code::kUsage, "divided table: evicts by scores that are given, which do not travel between devices");
  }
  if (uint64_t{options.max_batch} * options.width > UINT32_MAX) {
    fail(Code::kUsage, "divided table: calls of ", options.max_batch, " keys with ", options.width,
         " weights each, expected at most ", UINT32_MAX, " weights");
  }
  options.rows = (options.rows + places - 1) / places;
  options.max_batch =
      static_cast<uint32_t>(std::min<uint64_t>(options.max_batch * uint64_t{places}, UINT32_MAX));
  return options;
}

}  // namespace

// Two roles of a place: it asks with keys of its own, and it owns rows for which all places ask.
//   ordered arrays [max_batch]: the own keys in the order of their owners, by position and by row
//   received arrays [places, max_batch]: keys and rows of all places, those of a place behind those of the one before
struct DividedTable::Part {
  Part(const TablePlace& place, const DeviceTableOptions& whole, size_t places)
      : device(*place.device),
        stream(*place.stream),
        table(device, stream, options_of_part(whole, places)),
        workspace(device),
        owners(device, 2 * int64_t{whole.max_batch}),
        positions(device, 2 * int64_t{whole.max_batch}),
        ends(device, static_cast<int64_t>(places)),
        keys(device, whole.max_batch),
        rows(device, int64_t{whole.max_batch} * whole.width),
        received_keys(device, static_cast<int64_t>(places) * whole.max_batch),
        received_rows(device, static_cast<int64_t>(places) * whole.max_batch * whole.width),
        ready(device),
        host(device),
        ends_here(host, static_cast<int64_t>(places)),
        sent(places + 1),
        received(places + 1) {}

  // The keys that go to owner `to` begin at sent[to] of the ordered arrays; those that come from `from` at
  // received[from] of the received ones.
  int64_t to(size_t owner) const { return sent[owner + 1] - sent[owner]; }
  DeviceKeys received_call() const { return {received_keys.data(), received.back()}; }

  uint32_t* sorted_owners() const { return owners.data() + keys.size(); }
  uint32_t* sorted_positions() const { return positions.data() + keys.size(); }

  gpu::Device& device;
  gpu::Stream& stream;
  DeviceTable table;
  gpu::Workspace workspace;
  gpu::DeviceArray<uint32_t> owners, positions;  // [2, max_batch]: as given, and sorted by owner
  gpu::DeviceArray<uint32_t> ends;
  gpu::DeviceArray<uint64_t> keys;
  gpu::DeviceArray<float> rows;
  gpu::DeviceArray<uint64_t> received_keys;
  gpu::DeviceArray<float> received_rows;
  gpu::Event ready;  // what others copy from here is there
  gpu::HostMemory host;
  gpu::HostArray<uint32_t> ends_here;
  std::vector<int64_t> sent, received;  // [places + 1]
};

DividedTable::DividedTable(const std::vector<TablePlace>& places, const DeviceTableOptions& options)
    : width_(options.width), most_keys_(options.max_batch) {
  options_of_part(options, places.size());
  for (const TablePlace& place : places)
    parts_.push_back(std::make_unique<Part>(place, options, places.size()));
}

DividedTable::~DividedTable() {
  for (const auto& part : parts_) part->stream.synchronize();
}

uint32_t DividedTable::owner_of(uint64_t key, uint32_t places) {
  return owner_of_hash(hash_key(key), places);
}

DeviceTable& DividedTable::part(size_t place) {
  return parts_[place]->table;
}

// Each place orders its keys by owner.  The sort is stable, so that keys of one owner keep the order in which they
// were given.  The host then knows how many go from where to where, and the owners fetch them.
void DividedTable::send_keys(std::span<const DeviceKeys> keys) {
  const size_t places = parts_.size();
  PS_CHECK(keys.size() == places);
  for (size_t p = 0; p < places; ++p) {
    Part& part = *parts_[p];
    const uint32_t size = static_cast<uint32_t>(keys[p].size);
    if (keys[p].size < 0 || keys[p].size > most_keys_) {
      fail(Code::kInternal, "divided table: a call of ", keys[p].size, " keys, expected at most ",
           most_keys_);
    }
    uint32_t *const owners = part.sorted_owners(), *const positions = part.sorted_positions();
    part.stream.fill(part.ends.data(), 0, part.ends.bytes());
    if (size > 0) {
      run_threads(name_owners, size, part.stream, keys[p].keys, size, static_cast<uint32_t>(places),
                  part.owners.data(), part.positions.data());
      gpu::sort_pairs<uint32_t>(part.stream, part.workspace,
                                {part.owners.data(), part.positions.data(), owners, positions, keys[p].size},
                                std::max(1, static_cast<int>(std::bit_width(places - 1))));
      run_threads(order_keys, size, part.stream, keys[p].keys, positions, owners, size, part.keys.data(),
                  part.ends.data());
    }
    part.stream.copy_to_host(part.ends_here.data(), part.ends.data(), part.ends.bytes());
  }
  for (const auto& part : parts_) {
    part->stream.synchronize();
    for (size_t owner = 0; owner < places; ++owner)
      part->sent[owner + 1] = std::max<int64_t>(part->sent[owner], part->ends_here.data()[owner]);
  }
  for (size_t owner = 0; owner < places; ++owner) {
    for (size_t from = 0; from < places; ++from)
      parts_[owner]->received[from + 1] = parts_[owner]->received[from] + parts_[from]->to(owner);
  }
}

// All streams wait for the work of all others: for what they are about to copy, or for those that have copied from
// memory that is to be written again.
void DividedTable::meet() {
  for (const auto& part : parts_) part->stream.record(part->ready);
  for (const auto& part : parts_) {
    for (const auto& other : parts_) {
      if (other != part) part->stream.wait(other->ready);
    }
  }
}

// received <- ordered, or the other way: values of `width` for each key, of all parts.
template <class T>
void DividedTable::copy_parts(Direction direction, gpu::DeviceArray<T> Part::*ordered,
                              gpu::DeviceArray<T> Part::*received, int64_t width) {
  for (size_t asks = 0; asks < parts_.size(); ++asks) {
    for (size_t owns = 0; owns < parts_.size(); ++owns) {
      Part &asking = *parts_[asks], &owner = *parts_[owns];
      T* const there = (asking.*ordered).data() + asking.sent[owns] * width;
      T* const here = (owner.*received).data() + owner.received[asks] * width;
      const uint64_t bytes = static_cast<uint64_t>(asking.to(owns) * width) * sizeof(T);
      if (bytes == 0) continue;
      if (&asking.device == &owner.device) {
        direction == Direction::kToOwners ? owner.stream.copy_on_device(here, there, bytes)
                                          : asking.stream.copy_on_device(there, here, bytes);
      } else {
        direction == Direction::kToOwners ? owner.stream.copy_from_device(here, asking.device, there, bytes)
                                          : asking.stream.copy_from_device(there, owner.device, here, bytes);
      }
    }
  }
}

// Owners make the missing rows, and their weights go back to those that asked.  The next call waits for all streams
// (send_keys) before it writes to what is still being copied here.
void DividedTable::pull(std::span<const DeviceKeys> keys, std::span<float* const> weights) {
  send_keys(keys);
  copy_parts(Direction::kToOwners, &Part::keys, &Part::received_keys, 1);
  for (const auto& part : parts_)
    part->table.pull(part->stream, part->received_call(), part->received_rows.data());
  meet();
  copy_parts(Direction::kBack, &Part::rows, &Part::received_rows, width_);
  for (size_t p = 0; p < parts_.size(); ++p) {
    Part& part = *parts_[p];
    const uint64_t values = static_cast<uint64_t>(keys[p].size) * width_;
    if (values == 0) continue;
    run_threads(restore_rows, values, part.stream, part.rows.data(), part.sorted_positions(), values, width_,
                weights[p]);
  }
}

template <class Step>
void DividedTable::push(std::span<const DeviceKeys> keys, std::span<const float* const> gradients,
                        const Step& step, float scale, float bound) {
  send_keys(keys);
  for (size_t p = 0; p < parts_.size(); ++p) {
    Part& part = *parts_[p];
    const uint64_t values = static_cast<uint64_t>(keys[p].size) * width_;
    if (values == 0) continue;
    run_threads(order_rows, values, part.stream, gradients[p], part.sorted_positions(), values, width_,
                part.rows.data());
  }
  meet();
  copy_parts(Direction::kToOwners, &Part::keys, &Part::received_keys, 1);
  copy_parts(Direction::kToOwners, &Part::rows, &Part::received_rows, width_);
  meet();
  for (const auto& part : parts_)
    part->table.push(part->stream, part->received_call(), part->received_rows.data(), step, scale, bound);
}

#define PS_PUSH(...)                                                                           \
  template void DividedTable::push(std::span<const DeviceKeys>, std::span<const float* const>, \
                                   const __VA_ARGS__&, float, float);
PS_PUSH(SgdStep<float>)
PS_PUSH(MomentumStep<float, false>)
PS_PUSH(MomentumStep<float, true>)
PS_PUSH(AdagradStep<float>)
PS_PUSH(DecayedAdagradStep<float>)
PS_PUSH(AdadeltaStep<float>)
PS_PUSH(RmspropStep<float>)
PS_PUSH(AdamStep<float>)
PS_PUSH(AdamaxStep<float>)
PS_PUSH(FtrlStep<float>)
#undef PS_PUSH

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
