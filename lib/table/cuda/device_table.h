// DeviceTable: a table of sparse rows, weights with the state of their optimizer, in the memory of a device.
// Used by code that trains on a device; compiled for CUDA and for the emulator.
//
// All calls except the constructor are queued on a stream, and none blocks: keys that get no row are counted
// (DeviceTableCounts), and a full bucket evicts a row instead of failing.  Results depend on the calls alone,
// not on the order of threads: the gradients of a key add up in the order in which they are given, and a step
// rounds as on the CPU.  The calls of one table must be on one stream, or ordered by events.
//
// All arguments of calls lie in the memory of the same device.
#ifndef PS_TABLE_CUDA_DEVICE_TABLE_H_
#define PS_TABLE_CUDA_DEVICE_TABLE_H_

#include <cstdint>

#include "gpu/algorithms.h"
#include "gpu/device.h"
#include "math/initializer.h"
#include "table/cuda/device_rows.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

struct DeviceTableOptions {
  uint32_t width = 1;            // weights of a row
  uint32_t arrays = 0;           // state arrays of `width` each
  uint64_t rows = 32;            // capacity, rounded up to whole buckets of 32
  uint32_t max_batch = 1 << 16;  // the largest number of keys of a call
  EvictionScore score = EvictionScore::kAge;
  Initializer initializer;
  device_table::InitialState initial_state;
  // Rounding of the weights, which have 16 bits unless its type is f32; state always has 32.
  ValueRounding rounding;
};

// The keys of a call: any keys, repeated ones included.
struct DeviceKeys {
  const uint64_t* keys;
  int64_t size;
  const uint64_t* scores = nullptr;  // [size], for EvictionScore::kGiven
};

// One owner thread.
class DeviceTable {
 public:
  // bytes_for returns the device memory of a table, without the workspace for sorting. rows_for returns the
  // number of rows that fit into so many bytes, or 0.
  static uint64_t bytes_for(const DeviceTableOptions& options);
  static uint64_t rows_for(uint64_t bytes, DeviceTableOptions options);

  // Throws kUsage for impossible options, kExhausted if the device has too little memory.
  DeviceTable(gpu::Device& device, gpu::Stream& stream, const DeviceTableOptions& options);

  // Later calls round weights as at this step, which is 0 before.  This has no effect on weights that are
  // floats.
  void set_step(uint64_t step) { view_.rounding = options_.rounding.at_step(step); }

  // Reads without making rows: found [size] <- 1 or 0, weights [size, width] <- weights, or zero if there is
  // no row.
  void find(gpu::Stream& stream, DeviceKeys keys, uint8_t* found, float* weights);

  // Reads weights, state and scores without making rows.
  void find_rows(gpu::Stream& stream, DeviceKeys keys, const FoundRows& out);

  // Makes the missing rows. rows [size] <- pointers to the rows, null for a refused key; they are valid until
  // the next call that makes rows.  The members of `evicted` may all be null.  Throws kInternal if weights
  // are not floats.
  void find_or_insert(gpu::Stream& stream, DeviceKeys keys, float** rows, const RowsOut& evicted = {});

  // Makes the missing rows, and copies weights [size, width].  A refused key reads as a new row.
  void pull(gpu::Stream& stream, DeviceKeys keys, float* weights, const RowsOut& evicted = {});

  // Makes the missing rows, adds up the gradients [size, width] of each key, and applies one optimizer step
  // to its row.  Step is one of optim/kernels/steps.h with float.  Gradients of refused keys are lost.
  template <class Step>
  void push(gpu::Stream& stream, DeviceKeys keys, const float* gradients, const Step& step, float scale,
            float bound, const RowsOut& evicted = {});

  // Sets rows [size, row_floats()], weights and state.  If a key is repeated, its last row counts.
  void insert_and_evict(gpu::Stream& stream, DeviceKeys keys, const float* rows, const RowsOut& evicted = {});

  // Makes the missing rows, and sets the rows that have a source: the row of keys[i] to rows [..,
  // row_floats()] at sources[i], unless that is device_table::kNoSource.  So rows that are loaded do not
  // evict others of the same call.
  void load(gpu::Stream& stream, DeviceKeys keys, const uint32_t* sources, const float* rows,
            const RowsOut& evicted = {});

  void erase(gpu::Stream& stream, DeviceKeys keys);
  void clear(gpu::Stream& stream);

  // Copies the rows of buckets [first, first + num_buckets) to `out`, ordered by bucket and slot; at most
  // max_batch buckets a call.
  void export_rows(gpu::Stream& stream, uint32_t first, uint32_t num_buckets, const RowsOut& out);

  // counts <- the counts after all calls queued so far.  They are valid once the stream has been waited for.
  void copy_counts(gpu::Stream& stream, DeviceTableCounts& counts) const;

  uint32_t num_buckets() const { return view_.num_buckets; }
  uint64_t capacity() const { return uint64_t{view_.num_buckets} * device_table::kSlots; }
  uint32_t row_floats() const { return view_.row_floats; }

 private:
  friend class TableGroup;

  // Sorts the keys, and finds or makes their slots; start_rows gives new rows their initial values.
  device_table::Batch prepare(gpu::Stream& stream, DeviceKeys keys, const RowsOut& evicted);
  void start_rows(gpu::Stream& stream, const device_table::Batch& batch);
  device_table::Batch batch_of(DeviceKeys keys) const;
  void check(DeviceKeys keys, int64_t most) const;
  void check_floats() const;

  const DeviceTableOptions options_;
  uint64_t num_calls_ = 0;
  gpu::Workspace workspace_;
  gpu::DeviceArray<uint64_t> keys_, scores_;
  gpu::DeviceArray<uint32_t> taken_;
  gpu::DeviceArray<float> rows_;
  gpu::DeviceArray<DeviceTableCounts> counts_;
  gpu::DeviceArray<uint64_t> wide_scratch_;
  gpu::DeviceArray<uint32_t> scratch_;
  device_table::Rows view_;

  gpu::Stream long_runs_;  // for a part of push that runs beside the rest
  gpu::Event rows_ready_, long_runs_done_;
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_TABLE_CUDA_DEVICE_TABLE_H_
