// The form in which CachedRows lie in a DeviceTable.  Used by the rows of one device and of several.
#ifndef PS_DEVICE_CUDA_CACHED_TABLE_H_
#define PS_DEVICE_CUDA_CACHED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cuda/staged_array.h"
#include "device/row_device.h"
#include "gpu/device.h"
#include "table/cuda/device_table.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

static_assert(CachedRows::kBucketRows == device_table::kSlots &&
              CachedRows::kNoSource == device_table::kNoSource);

// Returns the score of a row, by which it is evicted: the time at which it was touched in the high half, and
// its stamp in the low half.
constexpr uint64_t score_of(uint64_t touched, uint64_t stamp) {
  return touched << 32 | (stamp & 0xffffffff);
}

// Reduces scores to the stamps in their low halves.
inline void keep_stamps(uint64_t* scores, size_t count) {
  for (size_t i = 0; i < count; ++i) scores[i] &= 0xffffffff;
}

DeviceTableOptions table_options(const CachedRowsOptions& options);

inline uint64_t floats_of_row(const CachedRowsOptions& options) {
  return uint64_t{options.width} * (1 + options.arrays);
}

// Room for rows that leave a table: those that a call evicts, or those of some buckets.
class LeavingRows {
 public:
  static uint64_t bytes_for(const CachedRowsOptions& options);
  LeavingRows(gpu::Device& device, const CachedRowsOptions& options);

  RowsOut out() const { return {keys_.data(), scores_.data(), rows_.data(), count_.device.data()}; }

  // begin queues the copy of the number of rows that a kernel gave out.  After the stream has been waited for, count
  // returns it, and copy queues the copy of these rows to position `first` of `rows`, which has room for them.
  void begin(gpu::Stream& stream) { receive(stream, count_, 1); }
  uint64_t floats() const { return floats_; }
  size_t count() const { return *count_.host.data(); }
  void copy(gpu::Stream& stream, StampedRows& rows, size_t first) const;

 private:
  const uint64_t floats_;  // of a row
  gpu::DeviceArray<uint64_t> keys_, scores_;
  gpu::DeviceArray<float> rows_;
  gpu::HostMemory memory_;
  StagedArray<uint32_t> count_;
};

// rows <- the rows that kernels gave out on these devices, those of a device behind those of the one before it.  Waits for
// each stream.
struct LeavingThere {
  gpu::Stream* stream;
  LeavingRows* rows;
};
void receive_rows(std::span<const LeavingThere> devices, StampedRows& rows);

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_CACHED_TABLE_H_
