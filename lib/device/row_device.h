// RowDevice: a device with memory for rows, emulated or real.  CachedRows: the rows of one sparse parameter
// there, as the host uses them.  RowCache decides which rows these are.
//
// One owner thread.  A call returns when the device has done its work.  Errors of the device are thrown.
#ifndef PS_DEVICE_ROW_DEVICE_H_
#define PS_DEVICE_ROW_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "math/value_rounding.h"
#include "optim/current_step.h"
#include "optim/kernels/idle.h"

namespace ps {

struct CachedRowsOptions {
  uint32_t width = 1;           // weights of a row
  uint32_t arrays = 0;          // state arrays of `width` each
  uint64_t rows = 32;           // capacity, rounded up to whole buckets
  uint32_t most_keys = 32;      // largest number of keys of a call
  ValueRounding rounding = {};  // rounding of weights on the device
  // read() and step() take addresses in memory of the device, of several the first.
  bool values_there = false;
};

// Rows with their stamps.  A stamp is the number of steps that a row has seen.  Stamps, and the times at which
// rows are touched, are below 2^32.  Each array is as long as `keys`; rows hold weights and state.
struct StampedRows {
  std::vector<uint64_t> keys, stamps;
  std::vector<float> rows;  // [keys, values of a row]
};

class CachedRows {
 public:
  // The number of rows in a bucket.  A call may have at most this many keys of a bucket.
  static constexpr uint32_t kBucketRows = 32;

  virtual ~CachedRows() = default;

  virtual uint32_t num_buckets() const = 0;
  virtual uint32_t bucket(uint64_t key) const = 0;
  virtual uint32_t most_keys() const = 0;

  // found [keys] <- 1 or 0; stamps [keys] <- the stamps of the rows that are there; rows [keys, values] <-
  // these rows, unless it is null.
  virtual void look_up(std::span<const uint64_t> keys, uint8_t* found, uint64_t* stamps, float* rows) = 0;

  // Makes room for all keys, and sets the rows of keys that have a source: the row of keys[i] becomes number
  // sources[i] of `rows`.  A key may have kNoSource only if its row is there.  All these rows get the stamps,
  // and count as touched at `touched`.  A full bucket evicts the rows that were touched first to `evicted`; it
  // must have enough rows that were touched before `touched`.  Weights are rounded as at the step before
  // `touched`.
  static constexpr uint32_t kNoSource = 0xffffffff;
  virtual void load(std::span<const uint64_t> keys, uint64_t touched, std::span<const uint64_t> stamps,
                    std::span<const uint32_t> sources, std::span<const float> rows, StampedRows& evicted) = 0;

  // Applies steps without gradient to rows that are there: changes[which[i]] to that of keys[i], unless
  // which[i] is kNoSource.  There are at most as many changes as keys.  These rows get the stamp, by which they
  // are also rounded, and count as touched at `touched`.
  virtual void advance(std::span<const uint64_t> keys, uint64_t touched, uint64_t stamp,
                       std::span<const uint32_t> which, std::span<const IdleChange> changes) = 0;

  // weights [keys, width] <- the weights of rows that are there.  They are in memory of the host, as are the
  // gradients of step, unless the options say that they are in memory of the device.
  virtual void read(std::span<const uint64_t> keys, float* weights) = 0;

  // Applies a step to rows that are there.  The gradients [keys, width] are multiplied by `scale` first.  The
  // rows get the stamp, count as touched at it, and are rounded as at that step.
  virtual void step(std::span<const uint64_t> keys, uint64_t stamp, const float* gradients,
                    const CurrentStep<float>& step, float scale) = 0;

  // out <- the rows of buckets [first, first + count); count is at most most_keys() / kBucketRows.
  virtual void copy_buckets(uint32_t first, uint32_t count, StampedRows& out) = 0;
  virtual void clear() = 0;
};

// The parts of a call for rows of many parameters, with the arguments of CachedRows::look_up, without rows, and
// of advance, read and step.
struct RowsLookUp {
  CachedRows* rows;
  std::span<const uint64_t> keys;
  uint8_t* found;
  uint64_t* stamps;
  float** pointers = nullptr;  // as in RowsRead, but null for keys without a row
};

struct RowsAdvance {
  CachedRows* rows;
  std::span<const uint64_t> keys;
  uint64_t touched, stamp;
  std::span<const uint32_t> which;
  std::span<const IdleChange> changes;
};

// If `pointers` [keys] is set, in memory of the device, it gets pointers to the rows where these lie, and `weights` is not used;
// only for rows of which RowDevice::gives_pointers says so.  The pointers are good until rows are loaded or cleared.
struct RowsRead {
  CachedRows* rows;
  std::span<const uint64_t> keys;
  float* weights;
  float** pointers = nullptr;
};

// With `pointers`, which a read of the same keys has set and which are still good, rows are not looked up again.  Keys are
// distinct if the step has a mean.
struct RowsStep {
  CachedRows* rows;
  std::span<const uint64_t> keys;
  uint64_t stamp;
  const float* gradients;
  CurrentStep<float> step;
  float scale;
  float* const* pointers = nullptr;  // [keys], in memory of the device
};

class RowDevice {
 public:
  virtual ~RowDevice() = default;
  virtual uint64_t free_bytes() const = 0;

  // bytes_for returns the device memory that such rows take; rows_for returns the number of rows that fit into
  // this many bytes, or 0.
  virtual uint64_t bytes_for(const CachedRowsOptions& options) const = 0;
  virtual uint64_t rows_for(uint64_t bytes, const CachedRowsOptions& options) const = 0;

  // Returns true if kernels of the model on this device can read such rows where they lie: values_there is set, all rows are in
  // the memory of one device, and their weights are floats.
  virtual bool gives_pointers(const CachedRowsOptions& options) const { return (void)options, false; }

  // The device must outlive the rows.  Throws kExhausted.
  virtual std::unique_ptr<CachedRows> make_rows(const CachedRowsOptions& options) = 0;

  // Make such calls for rows of this device, at most one for each parameter: together if the device can,
  // otherwise one after the other.
  virtual void look_up_all(std::span<const RowsLookUp> look_ups);
  virtual void advance_all(std::span<const RowsAdvance> advances);
  virtual void read_all(std::span<const RowsRead> reads);
  virtual void step_all(std::span<const RowsStep> steps);
};

// The kinds of devices: this build's emulator, and GPU number `number`.
std::unique_ptr<RowDevice> make_emulated_device();
std::unique_ptr<RowDevice> make_cuda_device(int number);

// Several of a kind as one, which share the rows: `count` emulated devices, or GPUs of these numbers.
std::unique_ptr<RowDevice> make_emulated_devices(size_t count);
std::unique_ptr<RowDevice> make_cuda_devices(std::span<const int> numbers);

}  // namespace ps

#endif  // PS_DEVICE_ROW_DEVICE_H_
