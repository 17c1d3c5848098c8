#include "bench/cuda/filled_table.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

constexpr double kFullRows = double(64 << 20);
constexpr int64_t kLeastRows = 4096;

// A quarter of the device's memory leaves room for the workspace of sorting and for the arrays of a
// workload.
DeviceTableOptions options_of(const gpu::Device& device, const BenchSettings& settings,
                              const TableShape& shape) {
  DeviceTableOptions options;
  options.width = shape.width;
  options.arrays = shape.arrays;
  options.max_batch = static_cast<uint32_t>(batch_size(settings.scale));
  options.rows = static_cast<uint64_t>(scaled_count(settings.scale, kFullRows, kLeastRows));
  options.rows = std::min(options.rows, DeviceTable::rows_for(device.memory().total_bytes / 4, options));
  return options;
}

}  // namespace

// A full table gets twice as many items as it has slots.  The first ones fill the buckets, and the others
// evict them by age, so that every bucket is full and the newest half of capacity() items have their rows.
FilledTable::FilledTable(gpu::Device& device, gpu::Stream& stream, const BenchSettings& settings,
                         const TableShape& shape)
    : shape_(shape),
      table_(device, stream, options_of(device, settings, shape)),
      end_item_(shape.full ? 2 * table_.capacity() : num_items()) {
  fill(device, stream, batch_size(settings.scale));
}

// Writes keys and rows of a batch at a time with kernels, since the rows of a large table would take long
// to come from the host.  The state of the optimizer, behind the weights of a row, begins as zeros.
void FilledTable::fill(gpu::Device& device, gpu::Stream& stream, int64_t batch) {
  gpu::DeviceArray<uint64_t> keys(device, batch);
  gpu::DeviceArray<float> rows(device, batch * table_.row_floats());
  for (uint64_t item = 0; item < end_item(); item += static_cast<uint64_t>(batch)) {
    const uint64_t size = std::min(static_cast<uint64_t>(batch), end_item() - item);
    write_sequence(stream, keys.data(), size, item);
    write_rows(stream, rows.data(), keys.data(), size, shape_.width, table_.row_floats());
    table_.insert_and_evict(stream, {keys.data(), static_cast<int64_t>(size)}, rows.data());
  }
  stream.synchronize();
}

double FilledTable::load(gpu::Stream& stream) const {
  DeviceTableCounts counts;
  table_.copy_counts(stream, counts);
  stream.synchronize();
  return static_cast<double>(counts.rows) / static_cast<double>(table_.capacity());
}

// Keys are spread over buckets by their hash, and a bucket with more than its 32 keys loses some.  The two
// extra rows are for batches of some dozens of keys, a hundredth of which is nothing.
void FilledTable::expect_few_missing(uint64_t missing, int64_t rows) {
  const auto most = static_cast<uint64_t>(rows) / 100 + 2;
  if (missing > most) {
    fail(Code::kInternal, missing, " of ", rows, " rows are missing, expected at most ", most);
  }
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
