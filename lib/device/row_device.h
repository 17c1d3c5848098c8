// RowDevice: a device with memory for rows, emulated or real; CachedRows: the rows of one sparse parameter there, as the
// host uses them.  RowCache decides which rows these are.
//
// One owner thread.  A call returns when the device has done its work.  Errors of the device are thrown.
#ifndef PS_DEVICE_ROW_DEVICE_H_
#define PS_DEVICE_ROW_DEVICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "math/value_rounding.h"
#include "optim/current_step.h"
#include "optim/kernels/idle.h"

namespace ps {

struct CachedRowsOptions {
  uint32_t width = 1;           // weights of a row
  uint32_t arrays = 0;          // state arrays of `width` each
  uint64_t rows = 32;           // capacity, rounded up to whole buckets
  uint32_t most_keys = 32;      // of a call
  ValueRounding rounding = {};  // of weights as they lie there
  bool values_there = false;    // read() and step() take memory of the device
};

// A stamp is the number of steps that a row has seen, below 2^32, as are the times at which rows are touched.  Each array is as long as `keys`, rows hold weights and state.
struct StampedRows {
  std::vector<uint64_t> keys, stamps;
  std::vector<float> rows;  // [keys, values of a row]
};

class CachedRows {
 public:
  // A bucket has so many rows.  A call may have so many keys of a bucket at most.
  static constexpr uint32_t kBucketRows = 32;

  virtual ~CachedRows() = default;

  virtual uint32_t num_buckets() const = 0;
  virtual uint32_t bucket(uint64_t key) const = 0;
  virtual uint32_t most_keys() const = 0;

  // found [keys] <- 1 or 0, stamps [keys] <- those of the rows that are there.  rows [keys, values] <- these rows,
  // unless it is null.
  virtual void look_up(std::span<const uint64_t> keys, uint8_t* found, uint64_t* stamps, float* rows) = 0;

  // Makes room for all keys, and sets the rows of those that have a source: that of keys[i] to number sources[i] of
  // `rows`, unless that is kNoSource, which only a key that is there may have.  Rows get the stamps, and were touched at
  // `touched`.  A full bucket gives the rows that were touched first, which go to `evicted`: there must be such as
  // were touched before that.  Weights are rounded as at the step before `touched`.
  static constexpr uint32_t kNoSource = 0xffffffff;
  virtual void load(std::span<const uint64_t> keys, uint64_t touched, std::span<const uint64_t> stamps,
                    std::span<const uint32_t> sources, std::span<const float> rows, StampedRows& evicted) = 0;

  // Applies steps without gradient to rows that are there: to that of keys[i] changes[which[i]], unless that is
  // kNoSource.  There are no more changes than keys.  These rows get the stamp, by which they are rounded, and were touched
  // at `touched`.
  virtual void advance(std::span<const uint64_t> keys, uint64_t touched, uint64_t stamp,
                       std::span<const uint32_t> which, std::span<const IdleChange> changes) = 0;

  // weights [keys, width] <- those of rows that are there.  They are in memory of the host, as are the gradients of step,
  // unless the options say that they are in that of the device.
  virtual void read(std::span<const uint64_t> keys, float* weights) = 0;

  // Applies a step to rows that are there, with gradients [keys, width] that are multiplied by `scale` first.  The rows
  // get the stamp, were touched then, and are rounded as at that step.
  virtual void step(std::span<const uint64_t> keys, uint64_t stamp, const float* gradients,
                    const CurrentStep<float>& step, float scale) = 0;

  // out <- the rows of buckets [first, first + count), which are most_keys() / kBucketRows at most.
  virtual void copy_buckets(uint32_t first, uint32_t count, StampedRows& out) = 0;
  virtual void clear() = 0;
};

// The parts of a call for rows of many parameters: as CachedRows::look_up, without rows, advance, read and step.
struct RowsLookUp {
  CachedRows* rows;
  std::span<const uint64_t> keys;
  uint8_t* found;
  uint64_t* stamps;
};

struct RowsAdvance {
  CachedRows* rows;
  std::span<const uint64_t> keys;
  uint64_t touched, stamp;
  std::span<const uint32_t> which;
  std::span<const IdleChange> changes;
};

struct RowsRead {
  CachedRows* rows;
  std::span<const uint64_t> keys;
  float* weights;
};

struct RowsStep {
  CachedRows* rows;
  std::span<const uint64_t> keys;
  uint64_t stamp;
  const float* gradients;
  CurrentStep<float> step;
  float scale;
};

class RowDevice {
 public:
  virtual ~RowDevice() = default;
  virtual uint64_t free_bytes() const = 0;

  // bytes_for returns the device memory that such rows take; rows_for, the rows that fit into so many bytes, or 0.
  virtual uint64_t bytes_for(const CachedRowsOptions& options) const = 0;
  virtual uint64_t rows_for(uint64_t bytes, const CachedRowsOptions& options) const = 0;

  // The device must outlive the rows.  Throws kExhausted.
  virtual std::unique_ptr<CachedRows> make_rows(const CachedRowsOptions& options) = 0;

  // Make such calls for rows of this device, of each parameter at most once: together if the device can, else one after the
  // other.
  virtual void look_up_all(std::span<const RowsLookUp> look_ups);
  virtual void advance_all(std::span<const RowsAdvance> advances);
  virtual void read_all(std::span<const RowsRead> reads);
  virtual void step_all(std::span<const RowsStep> steps);
};

// Returns N of cuda:N, and nothing for other types.
std::optional<int> cuda_number(std::string_view type);

// Throws kUsage "device.type: …" unless it is cpu, or emulated, emulated:N or cuda:N, or several of these with commas between.
void check_device_type(std::string_view type);

// Opens such a device; several as one (SplitDevice).  Throws kUsage where there is none.
std::unique_ptr<RowDevice> open_row_device(std::string_view type);

// The kinds of devices: of this build's emulator, and GPU number `number`.
std::unique_ptr<RowDevice> make_emulated_device();
std::unique_ptr<RowDevice> make_cuda_device(int number);

}  // namespace ps

#endif  // PS_DEVICE_ROW_DEVICE_H_
