// FilledTable: a DeviceTable that has rows of known values, for the suite `gpu`.  Used by bench/cuda/*.cu.
#ifndef PS_BENCH_CUDA_FILLED_TABLE_H_
#define PS_BENCH_CUDA_FILLED_TABLE_H_

#include <cstdint>

#include "bench/cuda/device_workload.h"
#include "table/cuda/device_table.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// The number of keys of a call at full size.
inline constexpr double kFullBatch = 1 << 20;

inline int64_t batch_size(double scale) {
  return scaled_count(scale, kFullBatch, 64);
}

// The shape of a table.
struct TableShape {
  uint32_t width, arrays;  // number of weights of a row, and of state arrays
  bool full = false;       // every bucket is full; else half of the slots are free
};

// The items are numbered from 0, and item n has the key bench_key(n).  One owner thread.
class FilledTable {
 public:
  // Makes 64 M slots at full size, or as many as fit into a quarter of the device's memory, and fills them.
  FilledTable(gpu::Device& device, gpu::Stream& stream, const BenchSettings& settings,
              const TableShape& shape);

  DeviceTable& table() { return table_; }
  const DeviceTable& table() const { return table_; }
  const TableShape& shape() const { return shape_; }

  // Items [first_item, first_item + num_items) have a row, except one in a hundred at most, whose bucket was
  // full.  Later items have none.  In a full table these items are the ones that came last.
  uint64_t first_item() const { return end_item_ - num_items(); }
  uint64_t num_items() const { return table_.capacity() / 2; }
  uint64_t end_item() const { return end_item_; }

  // The caller has added the next `count` items to a full table.
  void add_items(uint64_t count) { end_item_ += count; }

  // Returns the share of slots that are taken.
  double load(gpu::Stream& stream) const;

  // Throws if more than rows / 100 + 2 rows are missing.
  static void expect_few_missing(uint64_t missing, int64_t rows);

 private:
  void fill(gpu::Device& device, gpu::Stream& stream, int64_t batch);

  const TableShape shape_;
  DeviceTable table_;
  uint64_t end_item_;
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_BENCH_CUDA_FILLED_TABLE_H_
