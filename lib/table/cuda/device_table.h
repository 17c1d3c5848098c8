// DeviceTable: a table of sparse rows, weights with the state of their optimizer, in the memory of a device.
// Used by whoever trains on one; it is compiled for CUDA and for the emulator.
//
// All calls but the constructor are queued on a stream, and none waits: what goes wrong with keys is counted
// (DeviceTableCounts), and a full bucket loses a row instead of failing.  Results depend on the calls alone,
// not on how threads run: the gradients of a key add up in the order in which they are given, and a step
// rounds as on the CPU.  The calls of one table are on one stream, or ordered by events.
//
// Keys and all else that calls are given are in the memory of the same device.
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
  uint64_t rows = 32;            // room for this many, rounded up to whole buckets of 32
  uint32_t max_batch = 1 << 16;  // keys of a call, at most
  EvictionScore score = EvictionScore::kAge;
  Initializer initializer;
  device_table::InitialState initial_state;
};

// The keys of a call; any, and each as often as it likes.
struct DeviceKeys {
  const uint64_t* keys;
  int64_t size;
  const uint64_t* scores = nullptr;  // [size], for EvictionScore::kGiven
};

class DeviceTable {
 public:
  // The device memory that a table takes, without what sorting needs meanwhile; and the rows that fit into
  // so many bytes, 0 for none.
  static uint64_t bytes_for(const DeviceTableOptions& options);
  static uint64_t rows_for(uint64_t bytes, DeviceTableOptions options);

  // Throws kUsage for what no table can be, kExhausted where the device has no room.
  DeviceTable(gpu::Device& device, gpu::Stream& stream, const DeviceTableOptions& options);

  // Looks only: found [size] 1 or 0, weights [size, width], zero where there is no row.
  void find(gpu::Stream& stream, DeviceKeys keys, uint8_t* found, float* weights);

  // Makes the rows that are missing.  rows [size]: where they are, null for a key that was refused; good
  // until the next call that makes rows.  `evicted` may have all null.
  void find_or_insert(gpu::Stream& stream, DeviceKeys keys, float** rows, const RowsOut& evicted = {});

  // The same, giving copies of the weights [size, width]; of refused keys, those of a new row.
  void pull(gpu::Stream& stream, DeviceKeys keys, float* weights, const RowsOut& evicted = {});

  // Makes the rows that are missing, adds up the gradients [size, width] of each key, and makes one step of
  // its row: Step is one of optim/kernels/steps.h with float.  Gradients of refused keys are lost.
  template <class Step>
  void push(gpu::Stream& stream, DeviceKeys keys, const float* gradients, const Step& step, float scale,
            float bound, const RowsOut& evicted = {});

  // Sets rows [size, row_floats()], weights and state; of a key that is given again the last counts.
  void insert_and_evict(gpu::Stream& stream, DeviceKeys keys, const float* rows, const RowsOut& evicted = {});

  void erase(gpu::Stream& stream, DeviceKeys keys);
  void clear(gpu::Stream& stream);

  // The rows of buckets [first, first + num_buckets), by bucket and slot; at most 32 each, and max_batch
  // buckets a call.
  void export_rows(gpu::Stream& stream, uint32_t first, uint32_t num_buckets, const RowsOut& out);

  // counts <- what calls queued so far will have done, once the stream is waited for.
  void copy_counts(gpu::Stream& stream, DeviceTableCounts& counts) const;

  uint32_t num_buckets() const { return view_.num_buckets; }
  uint64_t capacity() const { return uint64_t{view_.num_buckets} * device_table::kSlots; }
  uint32_t row_floats() const { return view_.row_floats; }

 private:
  // Sorts the keys, finds their slots, and makes the rows that are missing.
  device_table::Batch prepare(gpu::Stream& stream, DeviceKeys keys, const RowsOut& evicted);
  device_table::Batch batch_of(DeviceKeys keys) const;
  void check(DeviceKeys keys, int64_t most) const;

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
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_TABLE_CUDA_DEVICE_TABLE_H_
