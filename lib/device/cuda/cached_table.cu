#include "device/cuda/cached_table.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

DeviceTableOptions table_options(const CachedRowsOptions& options) {
  DeviceTableOptions table;
  table.width = options.width;
  table.arrays = options.arrays;
  table.rows = options.rows;
  table.max_batch = options.most_keys;
  table.score = EvictionScore::kGiven;
  table.rounding = options.rounding;
  return table;
}

uint64_t LeavingRows::bytes_for(const CachedRowsOptions& options) {
  return options.most_keys * (2 * sizeof(uint64_t) + floats_of_row(options) * sizeof(float)) +
         sizeof(uint32_t);
}

LeavingRows::LeavingRows(gpu::Device& device, const CachedRowsOptions& options)
    : floats_(floats_of_row(options)),
      keys_(device, options.most_keys),
      scores_(device, options.most_keys),
      rows_(device, static_cast<int64_t>(options.most_keys * floats_)),
      memory_(device),
      count_(device, memory_, 1) {}

void LeavingRows::copy(gpu::Stream& stream, StampedRows& rows, size_t first) const {
  stream.copy_to_host(rows.keys.data() + first, keys_.data(), count() * sizeof(uint64_t));
  stream.copy_to_host(rows.stamps.data() + first, scores_.data(), count() * sizeof(uint64_t));
  stream.copy_to_host(rows.rows.data() + first * floats_, rows_.data(), count() * floats_ * sizeof(float));
}

// The first wait tells the numbers of rows, without which the sizes of the copies are unknown.
void receive_rows(std::span<const LeavingThere> devices, StampedRows& rows) {
  for (const LeavingThere& each : devices) each.rows->begin(*each.stream);
  for (const LeavingThere& each : devices) each.stream->synchronize();
  size_t count = 0;
  for (const LeavingThere& each : devices) count += each.rows->count();
  rows.keys.resize(count);
  rows.stamps.resize(count);
  rows.rows.resize(count * devices.front().rows->floats());
  count = 0;
  for (const LeavingThere& each : devices) {
    each.rows->copy(*each.stream, rows, count);
    count += each.rows->count();
  }
  for (const LeavingThere& each : devices) each.stream->synchronize();
  keep_stamps(rows.stamps.data(), count);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
