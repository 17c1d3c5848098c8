#include "table/cuda/device_table.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "table/cuda/batch_kernels.h"
#include "table/cuda/batch_launches.h"
#include "table/cuda/device_table_kernels.h"
#include "table/cuda/step_kernels.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

using device_table::Batch;
using device_table::blocks_for_some;
using device_table::initial_of;
using device_table::kArrays;
using device_table::kKeysOfMixed;
using device_table::kSlots;
using device_table::kThreads;
using device_table::kWideArrays;
using device_table::run_threads;
using device_table::run_warps;

constexpr uint32_t kSingles = 5;  // single values of 32 bits in scratch memory, beside its arrays

uint32_t row_floats_of(const DeviceTableOptions& options) {
  return options.width * (1 + options.arrays);
}

uint32_t round_up(uint32_t floats, uint32_t multiple) {
  return (floats + multiple - 1) / multiple * multiple;
}

// Returns the number of floats before the state of a row.
// Weights of 16 bits take half a float each.  If the width is a multiple of 4, so is the place of the
// state, which is then read 16 bytes at a time.
uint32_t state_at(const DeviceTableOptions& options) {
  if (options.rounding.type == ValueType::kF32) return options.width;
  return round_up((options.width + 1) / 2, options.width % 4 == 0 ? 4 : 1);
}

// Rows begin at multiples of 16 bytes, so that they are read 16 bytes at a time.
uint32_t stride_of(const DeviceTableOptions& options) {
  return round_up(state_at(options) + options.width * options.arrays, 4);
}

uint64_t buckets_of(const DeviceTableOptions& options) {
  return options.rows / kSlots + (options.rows % kSlots != 0);
}

uint64_t bucket_bytes(const DeviceTableOptions& options) {
  constexpr uint64_t kOfSlot = 2 * sizeof(uint64_t);  // key, score
  return kSlots * (kOfSlot + stride_of(options) * sizeof(float)) + sizeof(uint32_t);
}

uint64_t batch_bytes(const DeviceTableOptions& options) {
  return options.max_batch * (kWideArrays * sizeof(uint64_t) + kArrays * sizeof(uint32_t)) +
         kSingles * sizeof(uint32_t) + sizeof(DeviceTableCounts);
}

// Returns the options.  Throws kUsage if sizes that follow from them would overflow, or leave nothing to
// keep.
const DeviceTableOptions& checked(const DeviceTableOptions& options) {
  constexpr uint64_t kMaxFloats = 1 << 20, kMaxBuckets = (uint64_t{1} << 27) - 1;
  if (options.width == 0 || options.width > kMaxFloats || options.arrays > 8) {
    fail(Code::kUsage, "device table: rows of ", options.width, " weights with ", options.arrays,
         " arrays of state, expected 1 to ", kMaxFloats, " weights and at most 8 arrays");
  }
  if (options.rows == 0 || buckets_of(options) > kMaxBuckets) {
    fail(Code::kUsage, "device table: ", options.rows, " rows, expected 1 to ", kMaxBuckets * kSlots);
  }
  if (options.max_batch == 0 || options.max_batch > 1u << 26) {
    fail(Code::kUsage, "device table: calls of ", options.max_batch, " keys, expected 1 to ", 1u << 26);
  }
  return options;
}

}  // namespace

uint64_t DeviceTable::bytes_for(const DeviceTableOptions& options) {
  checked(options);
  return buckets_of(options) * bucket_bytes(options) + batch_bytes(options);
}

uint64_t DeviceTable::rows_for(uint64_t bytes, DeviceTableOptions options) {
  const uint64_t of_batch = batch_bytes(checked(options));
  return bytes < of_batch ? 0 : (bytes - of_batch) / bucket_bytes(options) * kSlots;
}

// A table has an array of keys, of scores and of rows, with kSlots elements for each bucket, and for each
// bucket a word whose bits tell which slots are taken.  view_ has their addresses, as kernels see them.
// Only the words and the counts are set here, since the other arrays say nothing about free slots.
DeviceTable::DeviceTable(gpu::Device& device, gpu::Stream& stream, const DeviceTableOptions& options)
    : options_(checked(options)),
      workspace_(device),
      keys_(device, static_cast<int64_t>(buckets_of(options) * kSlots)),
      scores_(device, keys_.size()),
      taken_(device, static_cast<int64_t>(buckets_of(options))),
      rows_(device, keys_.size() * stride_of(options)),
      counts_(device, 1),
      wide_scratch_(device, int64_t{kWideArrays} * options.max_batch),
      scratch_(device, int64_t{kArrays} * options.max_batch + kSingles),
      view_{keys_.data(),
            scores_.data(),
            taken_.data(),
            rows_.data(),
            counts_.data(),
            static_cast<uint32_t>(taken_.size()),
            options.width,
            row_floats_of(options),
            state_at(options),
            stride_of(options),
            options.rounding.at_step(0)},
      long_runs_(device),
      rows_ready_(device),
      long_runs_done_(device) {
  stream.fill(counts_.data(), 0, counts_.bytes());
  stream.fill(taken_.data(), 0, taken_.bytes());
}

void DeviceTable::check(DeviceKeys keys, int64_t most) const {
  if (keys.size < 0 || keys.size > most) {
    fail(Code::kInternal, "device table: a call of ", keys.size, " keys, expected at most ", most);
  }
  if (options_.score == EvictionScore::kGiven && keys.scores == nullptr) {
    fail(Code::kInternal, "device table: keys without scores, by which it evicts");
  }
}

// The single values lie behind `begins`, the last array, which has one element more than there are keys.
Batch DeviceTable::batch_of(DeviceKeys keys) const {
  const uint64_t each = options_.max_batch;
  Batch batch = device_table::batch_in(wide_scratch_.data(), scratch_.data(), each, 0, 0);
  batch.keys = keys.keys;
  batch.scores = keys.scores;
  batch.size = static_cast<uint32_t>(keys.size);
  batch.num_runs = batch.begins + each + 1;
  batch.num_long_runs = batch.num_runs + 1;
  batch.num_mixed = batch.num_runs + 2;
  batch.any_missing = batch.num_runs + 3;
  return batch;
}

// The kernels follow each other on the stream.  They sort the keys by the high half of their hashes, order
// positions whose halves are equal but whose hashes differ, and list the runs of equal keys.  Then they find
// the rows of the runs, give slots to new keys, count the outcomes, and save the evicted rows.
Batch DeviceTable::prepare(gpu::Stream& stream, DeviceKeys keys, const RowsOut& evicted) {
  check(keys, options_.max_batch);
  const Batch batch = batch_of(keys);
  ++num_calls_;
  if (keys.size == 0) {
    if (evicted.count != nullptr) stream.fill(evicted.count, 0, sizeof(uint32_t));
    return batch;
  }
  static_assert(kSingles == 5);  // begins has one more, and there are four from num_runs on
  stream.fill(batch.num_runs, 0, 4 * sizeof(uint32_t));
  run_threads(device_table::hash_keys, batch.size, stream, batch);
  gpu::sort_pairs<uint32_t>(stream, workspace_,
                            {batch.prefixes, batch.order, batch.sorted_prefixes, batch.positions, keys.size});
  // Half a hash takes half the time to sort, and is nearly always enough to tell keys apart.
  stream.fill(batch.runs_before, 0, static_cast<uint64_t>(keys.size) * sizeof(uint32_t));
  run_threads(device_table::complete_hashes, batch.size, stream, batch, batch.runs_before);
  gpu::launch(device_table::order_mixed, blocks_for_some(batch.size / kKeysOfMixed), kThreads, 0, stream,
              batch);
  // A run is a stretch of equal hashes.  A 1 marks the position at which each begins; the exclusive sums of
  // these are the numbers of the runs, by which list_runs writes their hashes and beginnings.
  run_threads(device_table::mark_runs, batch.size, stream, batch);
  gpu::exclusive_scan(stream, workspace_, batch.runs_before, batch.runs_before, keys.size);
  run_threads(device_table::list_runs, batch.size, stream, batch);
  // The sums run over all elements, including those behind the last run.
  if (evicted.count != nullptr)
    stream.fill(batch.evicted_flags, 0, static_cast<uint64_t>(keys.size) * sizeof(uint32_t));
  const device_table::Scoring scoring = {options_.score, num_calls_};
  // All keys that have rows are found, and their scores are set, before any slot is given away: so no key
  // of the batch loses its row to another one.
  run_threads(device_table::find_runs, batch.size, stream, view_, batch, scoring);
  run_threads(device_table::claim_slots, batch.size, stream, view_, batch, scoring);
  if (evicted.count != nullptr)
    gpu::exclusive_scan(stream, workspace_, batch.evicted_flags, batch.evicted_positions, keys.size);
  // A thread counts some 16 runs, since each warp adds to the counts of the table once.
  run_threads(device_table::count_outcomes, (batch.size + 15) / 16, stream, view_, batch, evicted);
  if (evicted.count != nullptr)
    run_threads(device_table::save_evicted, batch.size, stream, view_, batch, evicted);
  return batch;
}

void DeviceTable::start_rows(gpu::Stream& stream, const Batch& batch) {
  run_threads(device_table::start_rows, batch.size, stream, view_, batch, initial_of(options_.initializer),
              options_.initial_state);
}

void DeviceTable::find(gpu::Stream& stream, DeviceKeys keys, uint8_t* found, float* weights) {
  if (keys.size == 0) return;
  run_threads(device_table::find_weights, static_cast<uint64_t>(keys.size), stream, view_, keys.keys,
              static_cast<uint32_t>(keys.size), found, weights);
}

void DeviceTable::find_rows(gpu::Stream& stream, DeviceKeys keys, const FoundRows& out) {
  if (keys.size == 0) return;
  run_threads(device_table::find_whole_rows, static_cast<uint64_t>(keys.size), stream, view_, keys.keys,
              static_cast<uint32_t>(keys.size), out);
}

// The caller of a function that gives pointers reads rows as floats, which weights of 16 bits are not.
void DeviceTable::check_floats() const {
  if (options_.rounding.type == ValueType::kF32) return;
  fail(Code::kInternal, "device table: pointers to rows whose weights are no floats");
}

void DeviceTable::find_or_insert(gpu::Stream& stream, DeviceKeys keys, float** rows, const RowsOut& evicted) {
  check_floats();
  const Batch batch = prepare(stream, keys, evicted);
  if (batch.size == 0) return;
  start_rows(stream, batch);
  run_threads(device_table::point_to_rows, batch.size, stream, view_, batch, rows);
}

void DeviceTable::pull(gpu::Stream& stream, DeviceKeys keys, float* weights, const RowsOut& evicted) {
  const Batch batch = prepare(stream, keys, evicted);
  if (batch.size == 0) return;
  start_rows(stream, batch);
  run_threads(device_table::read_weights, batch.size, stream, view_, batch, initial_of(options_.initializer),
              weights);
}

// Prepares the batch, makes the new rows, and then applies the step to each run of equal keys, with the sum
// of its gradients.  Short runs take a warp each; a run of more than kLongRun gradients would keep its warp
// busy long after all others, so whole blocks work on these.
template <class Step>
void DeviceTable::push(gpu::Stream& stream, DeviceKeys keys, const float* gradients, const Step& step,
                       float scale, float bound, const RowsOut& evicted) {
  if (Step::kArrays > static_cast<int>(options_.arrays)) {
    fail(Code::kInternal, "device table: a step with ", Step::kArrays, " arrays of state, rows have ",
         options_.arrays);
  }
  const Batch batch = prepare(stream, keys, evicted);
  if (batch.size == 0) return;
  start_rows(stream, batch);
  // A few blocks work on long runs for a long time, on a stream of their own, while the other runs go on.
  // The host does not know how many long runs there are; a block without one ends at once.
  const bool may_be_long = batch.size > device_table::kLongRun;
  if (may_be_long) {
    stream.record(rows_ready_);
    long_runs_.wait(rows_ready_);
    gpu::launch(device_table::step_long_runs<Step>, blocks_for_some(batch.size / device_table::kLongRun),
                device_table::kStepThreads, device_table::kStepBytes, long_runs_, view_, batch, gradients,
                step, scale, bound);
    long_runs_.record(long_runs_done_);
  }
  run_warps(device_table::step_rows<Step>, batch.size, stream, view_, batch, gradients, step, scale, bound);
  if (may_be_long) stream.wait(long_runs_done_);
}

void DeviceTable::insert_and_evict(gpu::Stream& stream, DeviceKeys keys, const float* rows,
                                   const RowsOut& evicted) {
  const Batch batch = prepare(stream, keys, evicted);
  if (batch.size > 0) run_threads(device_table::assign_rows, batch.size, stream, view_, batch, rows);
}

// New rows get their initial values first, and then those that have a source get its values.
void DeviceTable::load(gpu::Stream& stream, DeviceKeys keys, const uint32_t* sources, const float* rows,
                       const RowsOut& evicted) {
  const Batch batch = prepare(stream, keys, evicted);
  if (batch.size == 0) return;
  start_rows(stream, batch);
  run_threads(device_table::load_rows, batch.size, stream, view_, batch, sources, rows);
}

void DeviceTable::erase(gpu::Stream& stream, DeviceKeys keys) {
  if (keys.size == 0) return;
  run_warps(device_table::erase_keys, static_cast<uint64_t>(keys.size), stream, view_, keys.keys,
            static_cast<uint32_t>(keys.size));
}

void DeviceTable::clear(gpu::Stream& stream) {
  stream.fill(taken_.data(), 0, taken_.bytes());
  run_threads(device_table::forget_rows, 0, stream, view_);
}

// count_taken writes the number of rows of each bucket to `sizes`, and their running sums, `begins`, are
// the places at which the rows of each bucket begin in `out`.  So a warp copies a bucket without knowing of
// the others.
void DeviceTable::export_rows(gpu::Stream& stream, uint32_t first, uint32_t num_buckets, const RowsOut& out) {
  if (num_buckets > options_.max_batch || first > view_.num_buckets ||
      num_buckets > view_.num_buckets - first) {
    fail(Code::kInternal, "device table: buckets ", first, " to ", uint64_t{first} + num_buckets, " of ",
         view_.num_buckets, ", expected at most ", options_.max_batch, " that are there");
  }
  if (num_buckets == 0) return stream.fill(out.count, 0, sizeof(uint32_t));
  uint32_t* const sizes = scratch_.data();
  uint32_t* const begins = sizes + options_.max_batch;
  run_threads(device_table::count_taken, num_buckets, stream, view_, first, num_buckets, sizes);
  gpu::exclusive_scan(stream, workspace_, sizes, begins, num_buckets);
  run_warps(device_table::export_buckets, num_buckets, stream, view_, first, num_buckets, begins, out);
}

void DeviceTable::copy_counts(gpu::Stream& stream, DeviceTableCounts& counts) const {
  stream.copy_to_host(&counts, counts_.data(), sizeof(counts));
}

#define PS_PUSH(...)                                                                                        \
  template void DeviceTable::push(gpu::Stream&, DeviceKeys, const float*, const __VA_ARGS__&, float, float, \
                                  const RowsOut&);
PS_FOR_STEPS(PS_PUSH, float)
#undef PS_PUSH

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
