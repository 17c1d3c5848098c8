// KeySplit: divides the keys of a call among the owners of their rows, on the device that has the keys.  The hash of a key
// says which owner has its row.  Used by DividedGroup for the rows of jobs on several devices.  Compiled for CUDA and
// for the emulator.
//
// A call may have the keys of many tables.  Keys of one owner and table are a group; the groups are in the order of
// owners, and of tables for each owner, and the keys of a group in the order in which they were given.
#ifndef PS_TABLE_CUDA_KEY_SPLIT_H_
#define PS_TABLE_CUDA_KEY_SPLIT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/algorithms.h"
#include "gpu/device.h"
#include "table/cuda/row_access.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace key_split {

// One thread a key: the values of keys in the order of owners <- those of the keys as given, or the other way.
//   given, ordered [size]
template <class T>
__global__ void order_values(const T* given, const uint32_t* positions, uint32_t size, T* ordered) {
  const uint32_t j = device_table::thread_index();
  if (j < size) ordered[j] = given[positions[j]];
}

template <class T>
__global__ void restore_values(const T* ordered, const uint32_t* positions, uint32_t size, T* given) {
  const uint32_t j = device_table::thread_index();
  if (j < size) given[positions[j]] = ordered[j];
}

}  // namespace key_split

// One owner thread.
class KeySplit {
 public:
  // Returns the owner of the row of a key.
  static uint32_t owner_of(uint64_t key, uint32_t owners);

  // Returns the bytes of device memory for such calls, without the workspace for sorting.
  static uint64_t bytes_for(uint64_t most_keys, uint64_t owners, uint64_t tables);

  // A call has at most `most_keys` keys, of at most `tables` tables.
  KeySplit(gpu::Device& device, int64_t most_keys, size_t owners, size_t tables);

  // Queues the division of keys, which are on the device.  begins [tables + 1]: those of table t are keys
  // [begins[t], begins[t + 1]).  The stream must have been waited for since the last call.
  void queue(gpu::Stream& stream, const uint64_t* keys, std::span<const uint32_t> begins);

  // Takes in the sizes of groups after the stream has been waited for.
  void finish();

  int64_t num_keys() const { return num_keys_; }
  // The first ordered key of a group, which is also the end of the group before it; the last group is followed by one
  // end more.
  int64_t group_begin(size_t owner, size_t table) const { return begins_[owner * tables_ + table]; }
  int64_t owner_begin(size_t owner) const { return group_begin(owner, 0); }
  int64_t owner_size(size_t owner) const { return owner_begin(owner + 1) - owner_begin(owner); }

  // In memory of the device, [num_keys]: the ordered keys, and the number of each among the keys as given.
  const uint64_t* keys() const { return keys_.data(); }
  const uint32_t* positions() const { return positions_.data() + most_keys(); }
  // [num_keys]: the groups of the ordered keys, owner * tables + table.
  const uint32_t* groups() const { return groups_.data() + most_keys(); }

 private:
  int64_t most_keys() const { return keys_.size(); }

  const size_t owners_;
  gpu::HostMemory memory_;
  gpu::Workspace workspace_;
  gpu::DeviceArray<uint64_t> keys_;
  gpu::DeviceArray<uint32_t> groups_, positions_;  // [2, most_keys]: as given, and sorted by group
  gpu::DeviceArray<uint32_t> tables_there_, ends_;
  gpu::HostArray<uint32_t> tables_here_, ends_here_;

  // The present call.
  size_t tables_ = 0;
  int64_t num_keys_ = 0;
  std::vector<int64_t> begins_;  // [owners * tables + 1]
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_TABLE_CUDA_KEY_SPLIT_H_
