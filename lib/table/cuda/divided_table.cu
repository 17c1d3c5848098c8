#include "table/cuda/divided_table.h"

#include <algorithm>

#include "base/error.h"
#include "optim/kernels/steps.h"
#include "table/cuda/batch_launches.h"
#include "table/cuda/key_split.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

using device_table::run_threads;

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
//   rows [max_batch]: rows of the own keys in the order of their owners, in which the split has the keys
//   received arrays [places, max_batch]: keys and rows of all places, those of a place behind those of the one before
struct DividedTable::Part {
  Part(const TablePlace& place, const DeviceTableOptions& whole, size_t places)
      : device(*place.device),
        stream(*place.stream),
        table(device, stream, options_of_part(whole, places)),
        split(device, whole.max_batch, places, 1),
        rows(device, int64_t{whole.max_batch} * whole.width),
        received_keys(device, static_cast<int64_t>(places) * whole.max_batch),
        received_rows(device, static_cast<int64_t>(places) * whole.max_batch * whole.width),
        ready(device),
        received(places + 1) {}

  DeviceKeys received_call() const { return {received_keys.data(), received.back()}; }

  gpu::Device& device;
  gpu::Stream& stream;
  DeviceTable table;
  KeySplit split;
  gpu::DeviceArray<float> rows;
  gpu::DeviceArray<uint64_t> received_keys;
  gpu::DeviceArray<float> received_rows;
  gpu::Event ready;  // what others copy from here is there
  // [places + 1]: keys that come from `from` begin at received[from] of the received arrays.
  std::vector<int64_t> received;
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
  return KeySplit::owner_of(key, places);
}

DeviceTable& DividedTable::part(size_t place) {
  return parts_[place]->table;
}

// Each place orders its keys by owner.  The host then knows how many go from where to where, and the owners fetch
// them.
void DividedTable::send_keys(std::span<const DeviceKeys> keys) {
  const size_t places = parts_.size();
  PS_CHECK(keys.size() == places);
  for (size_t p = 0; p < places; ++p) {
    if (keys[p].size < 0 || keys[p].size > most_keys_) {
      fail(Code::kInternal, "divided table: a call of ", keys[p].size, " keys, expected at most ",
           most_keys_);
    }
    const uint32_t begins[] = {0, static_cast<uint32_t>(keys[p].size)};
    parts_[p]->split.queue(parts_[p]->stream, keys[p].keys, begins);
  }
  for (const auto& part : parts_) {
    part->stream.synchronize();
    part->split.finish();
  }
  for (size_t owner = 0; owner < places; ++owner) {
    for (size_t from = 0; from < places; ++from)
      parts_[owner]->received[from + 1] =
          parts_[owner]->received[from] + parts_[from]->split.owner_size(owner);
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

// Copies between what is in the order of owners at each place, `ordered`, and what owners have received: values of `width`
// for each key, of all parts.
template <class T, class Ordered>
void DividedTable::copy_parts(Direction direction, const Ordered& ordered,
                              gpu::DeviceArray<T> Part::*received, int64_t width) {
  for (size_t asks = 0; asks < parts_.size(); ++asks) {
    for (size_t owns = 0; owns < parts_.size(); ++owns) {
      Part &asking = *parts_[asks], &owner = *parts_[owns];
      T* const there = ordered(asking) + asking.split.owner_begin(owns) * width;
      T* const here = (owner.*received).data() + owner.received[asks] * width;
      const uint64_t bytes = static_cast<uint64_t>(asking.split.owner_size(owns) * width) * sizeof(T);
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
  copy_parts(
      Direction::kToOwners, [](Part& part) { return part.split.keys(); }, &Part::received_keys, 1);
  for (const auto& part : parts_)
    part->table.pull(part->stream, part->received_call(), part->received_rows.data());
  meet();
  copy_parts(
      Direction::kBack, [](Part& part) { return part.rows.data(); }, &Part::received_rows, width_);
  for (size_t p = 0; p < parts_.size(); ++p) {
    Part& part = *parts_[p];
    const uint64_t values = static_cast<uint64_t>(keys[p].size) * width_;
    if (values == 0) continue;
    run_threads(restore_rows, values, part.stream, part.rows.data(), part.split.positions(), values, width_,
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
    run_threads(order_rows, values, part.stream, gradients[p], part.split.positions(), values, width_,
                part.rows.data());
  }
  meet();
  copy_parts(
      Direction::kToOwners, [](Part& part) { return part.split.keys(); }, &Part::received_keys, 1);
  copy_parts(
      Direction::kToOwners, [](Part& part) { return part.rows.data(); }, &Part::received_rows, width_);
  meet();
  for (const auto& part : parts_)
    part->table.push(part->stream, part->received_call(), part->received_rows.data(), step, scale, bound);
}

#define PS_PUSH(...)                                                                           \
  template void DividedTable::push(std::span<const DeviceKeys>, std::span<const float* const>, \
                                   const __VA_ARGS__&, float, float);
PS_FOR_STEPS(PS_PUSH, float)
#undef PS_PUSH

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
