// Times pushes to a table on a device: the gradients of a million look-ups, which Zipf's law draws, are
// merged by key and applied.
#include <limits>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "bench/cuda/filled_table.h"
#include "bench/gpu/pushed_rows.h"
#include "bench/gpu/suite.h"
#include "bench/gpu/zipf_ranks.h"
#include "gpu/algorithms.h"
#include "optim/kernels/steps.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

constexpr int kBatches = 4;  // number of batches of a run

__global__ void write_gradients(float* gradients, uint64_t size, uint32_t width) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size * width) gradients[i] = bench_gradient(i / width, static_cast<uint32_t>(i % width));
}

// The optimizers, each with its step in the precision of the template's argument.
struct Sgd {
  template <class T>
  static SgdStep<T> step() {
    return {T(0.01), {}};
  }
};

struct Adagrad {
  template <class T>
  static AdagradStep<T> step() {
    return {T(0.01), T(1e-6), {}};
  }
};

struct Adam {
  template <class T>
  static AdamStep<T> step() {
    return {T(0.001), T(1), T(1e-8), T(0.9), T(0.1), T(0.999), T(0.001), {}};
  }
};

// Times kBatches steps of an optimizer on a table that is half full.  One owner thread.
//
// Zipf's law draws the keys, as in click logs, so that one key may have a hundred thousand gradients while
// most have one: this is the case in which merging is difficult.  All batches push the same gradients
// [batch, width], whose values depend on the position in the batch, and the keys differ.  check() computes,
// for a few ranks and columns, the weights after all pushes so far in double precision (PushedRows), and
// compares how far each has moved from where it started, since the weight itself may be much larger than
// its move.
template <class Rule>
class Steps : public DeviceWorkload {
 public:
  Steps(const SharedGpu& gpu, const BenchSettings& settings, uint32_t width)
      : DeviceWorkload(gpu),
        batch_(batch_size(settings.scale)),
        filled_(*gpu, stream(), settings, {width, decltype(Rule::template step<float>())::kArrays}),
        ranks_(zipf_ranks(filled_.num_items(), kBatches * batch_)),
        distinct_(distinct_of_batches()),
        rows_(ranks_, static_cast<size_t>(batch_), width, bench_gradient),
        keys_(*gpu, kBatches * batch_),
        gradients_(*gpu, batch_ * width),
        weights_(*gpu, batch_ * width) {
    std::vector<uint64_t> keys;
    for (uint64_t rank : ranks_) keys.push_back(bench_key(filled_.first_item() + rank));
    stream().copy_to_device(keys_.data(), keys.data(), keys_.bytes());
    const auto size = static_cast<uint64_t>(batch_);
    run_items(write_gradients, size * width, stream(), gradients_.data(), size, width);
    starts_ = weights_found();
  }

  // Counts the pushes that the run will make.
  void prepare() override { pushes_ += kBatches; }

  void run() override {
    time([&] {
      for (int i = 0; i < kBatches; ++i) step({keys_.data() + i * batch_, batch_});
    });
  }

  void check() override {
    const std::vector<float> found = weights_found();
    for (size_t i = 0; i < rows_.ranks().size(); ++i) {
      for (size_t column = 0; column < PushedRows::kColumns; ++column) {
        const uint32_t c = rows_.columns()[column];
        const double start = starts_[i * width() + c];
        const double moved =
            rows_.weight_after(i, column, start, pushes_, Rule::template step<double>()) - start;
        expect_near("move of a weight", found[i * width() + c] - start, moved, PushedRows::kTolerance);
      }
    }
  }

  // At the least, a step reads the gradients, and reads and writes the rows.  Repeated keys share one row,
  // so rows count by distinct_.
  Work work() const override {
    const double bytes_read = static_cast<double>(kBatches * gradients_.bytes());
    const double bytes_of_rows =
        static_cast<double>(distinct_ * filled_.table().row_floats() * sizeof(float));
    return {.bytes = bytes_read,
            .items = static_cast<double>(kBatches * batch_),
            .of_limit = bytes_read + 2 * bytes_of_rows};
  }

  std::vector<Figure> figures() const override {
    return {{kMillisecondsOfStep, *seconds() / kBatches * 1e3},
            {"rows a step", static_cast<double>(distinct_) / kBatches}};
  }

 protected:
  virtual void step(DeviceKeys keys) { push(keys); }

  void push(DeviceKeys keys) {
    filled_.table().push(stream(), keys, gradients_.data(), Rule::template step<float>(), 1,
                         std::numeric_limits<float>::max());
  }

  DeviceTable& table() { return filled_.table(); }
  int64_t batch() const { return batch_; }
  uint32_t width() const { return filled_.shape().width; }
  const float* gradients() const { return gradients_.data(); }
  float* weights() const { return weights_.data(); }

 private:
  uint64_t key_of(size_t rank_index) const {
    return bench_key(filled_.first_item() + rows_.ranks()[rank_index]);
  }

  // Returns the sum of the numbers of different keys of the batches.
  uint64_t distinct_of_batches() const {
    uint64_t distinct = 0;
    const auto size = static_cast<size_t>(batch_);
    for (size_t begin = 0; begin < ranks_.size(); begin += size) {
      distinct += count_distinct(std::span(ranks_).subspan(begin, size));
    }
    return distinct;
  }

  // Reads the weights of the rows that check() looks at: [ranks, width].  Rows without a place in the table
  // read as zeros before and after.
  std::vector<float> weights_found() {
    const size_t size = rows_.ranks().size();
    std::vector<uint64_t> keys;
    for (size_t i = 0; i < size; ++i) keys.push_back(key_of(i));
    gpu::DeviceArray<uint64_t> wanted(device(), static_cast<int64_t>(size));
    gpu::DeviceArray<uint8_t> found(device(), wanted.size());
    gpu::DeviceArray<float> weights(device(), wanted.size() * width());
    std::vector<float> out(size * width());
    stream().copy_to_device(wanted.data(), keys.data(), wanted.bytes());
    table().find(stream(), {wanted.data(), wanted.size()}, found.data(), weights.data());
    stream().copy_to_host(out.data(), weights.data(), weights.bytes());
    stream().synchronize();
    return out;
  }

  const int64_t batch_;
  FilledTable filled_;
  const std::vector<uint64_t> ranks_;  // [kBatches, batch]
  const uint64_t distinct_;            // sum over the batches of their number of different keys
  const PushedRows rows_;
  gpu::DeviceArray<uint64_t> keys_;
  gpu::DeviceArray<float> gradients_, weights_;  // [batch, width]
  std::vector<float> starts_;                    // weights that check() looks at, before the first push
  int64_t pushes_ = 0;
};

// Pulls the weights of a batch, then pushes its gradients.  One owner thread.
class PullAndPush final : public Steps<Adam> {
 public:
  using Steps::Steps;

 private:
  void step(DeviceKeys keys) override {
    table().pull(stream(), keys, weights());
    push(keys);
  }
};

// Adds up the gradients of each run of equal keys, in order; each warp adds up one run.  positions [size],
// gradients [size, width] -> merged [runs, width].
//
// The lanes of a warp take neighbouring columns, so that they read a gradient as one stretch.  A long run
// is added up by one warp alone: this is the weakness of the plain way, which the table's push does not
// have.
__global__ void merge_runs(const uint32_t* positions, const uint32_t* begins, const uint32_t* lengths,
                           uint32_t num_runs, const float* gradients, uint32_t width, float* merged) {
  const uint32_t run = (blockIdx.x * blockDim.x + threadIdx.x) / gpu::kWarpSize;
  if (run >= num_runs) return;
  for (uint32_t c = gpu::lane(); c < width; c += gpu::kWarpSize) {
    float sum = 0;
    for (uint32_t i = 0; i < lengths[run]; ++i) {
      sum += gradients[uint64_t{positions[begins[run] + i]} * width + c];
    }
    merged[uint64_t{run} * width + c] = sum;
  }
}

__global__ void write_positions(uint32_t* positions, uint32_t size) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) positions[i] = i;
}

// Applies a step of the optimizer to rows [size, floats] with gradients [size, width]; each thread steps one
// weight.
template <class Step>
__global__ void step_weights(float* rows, uint32_t size, uint32_t width, uint32_t floats,
                             const float* gradients, Step step) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= uint64_t{size} * width) return;
  float* const weight = rows + i / width * floats + i % width;
  float none = 0;
  step(*weight, Step::kArrays > 0 ? weight[width] : none, Step::kArrays > 1 ? weight[2 * width] : none,
       gradients[i]);
}

// Makes the same steps by calls for a table without push: a sort brings equal keys together, their
// gradients are added up, and the rows are read, stepped, and set again.  One owner thread.
//
// The steps of a batch: (1) find_runs sorts (key, position) pairs, so that the positions of a key stand
// side by side in order of the look-ups; (2) merge_runs adds up the gradients of each run; (3) the rows of
// the unique keys are copied out of the table with their state; (4) step_weights steps them; (5)
// insert_and_evict puts them back.  Sums have the order of the look-ups, as in push, so the same check
// holds for both.
template <class Rule>
class UnfusedSteps final : public Steps<Rule> {
 public:
  UnfusedSteps(const SharedGpu& gpu, const BenchSettings& settings, uint32_t width)
      : Steps<Rule>(gpu, settings, width),
        workspace_(*gpu),
        sorted_(*gpu, this->batch()),
        unique_(*gpu, this->batch()),
        scores_(*gpu, this->batch()),
        positions_(*gpu, this->batch()),
        sorted_positions_(*gpu, this->batch()),
        lengths_(*gpu, this->batch()),
        begins_(*gpu, this->batch()),
        num_runs_(*gpu, 1),
        found_(*gpu, this->batch()),
        merged_(*gpu, this->batch() * width),
        rows_(*gpu, this->batch() * this->table().row_floats()) {}

 private:
  void step(DeviceKeys keys) override {
    const uint32_t num_runs = find_runs(keys);
    constexpr unsigned kThreads = 128;
    gpu::launch(merge_runs, gpu::blocks_for(uint64_t{num_runs} * gpu::kWarpSize, kThreads), kThreads, 0,
                this->stream(), sorted_positions_.data(), begins_.data(), lengths_.data(), num_runs,
                this->gradients(), this->width(), merged_.data());
    const DeviceKeys unique = {unique_.data(), num_runs};
    this->table().find_rows(this->stream(), unique, {found_.data(), scores_.data(), rows_.data()});
    const auto rule = Rule::template step<float>();
    run_items(step_weights<std::remove_const_t<decltype(rule)>>, uint64_t{num_runs} * this->width(),
              this->stream(), rows_.data(), num_runs, this->width(), this->table().row_floats(),
              merged_.data(), rule);
    this->table().insert_and_evict(this->stream(), unique, rows_.data());
  }

  // Sorts the keys, and returns the number of different ones; unique_, begins_ and lengths_ describe their
  // runs.  The lengths are cleared beyond the runs, since the exclusive scan, which makes them beginnings,
  // covers keys.size entries.  The number of runs has to come to the host before the next kernels can be
  // launched, and this wait is part of the time.
  uint32_t find_runs(DeviceKeys keys) {
    gpu::Stream& stream = this->stream();
    const auto size = static_cast<uint32_t>(keys.size);
    run_items(write_positions, size, stream, positions_.data(), size);
    gpu::sort_pairs<uint64_t>(
        stream, workspace_,
        {keys.keys, positions_.data(), sorted_.data(), sorted_positions_.data(), keys.size});
    stream.fill(lengths_.data(), 0, lengths_.bytes());
    gpu::find_runs(stream, workspace_, sorted_.data(), keys.size, unique_.data(), lengths_.data(),
                   num_runs_.data());
    gpu::exclusive_scan(stream, workspace_, lengths_.data(), begins_.data(), keys.size);
    uint32_t num_runs = 0;
    stream.copy_to_host(&num_runs, num_runs_.data(), sizeof num_runs);
    stream.synchronize();
    return num_runs;
  }

  gpu::Workspace workspace_;
  gpu::DeviceArray<uint64_t> sorted_, unique_, scores_;
  gpu::DeviceArray<uint32_t> positions_, sorted_positions_, lengths_, begins_, num_runs_;
  gpu::DeviceArray<uint8_t> found_;
  gpu::DeviceArray<float> merged_, rows_;
};

constexpr uint32_t kWide = 64, kWidest = 128;

// Adds the steps of a rule, and the same steps without push, which stand beside them.  AdaGrad also stands
// beside the processor's table, which makes the same steps.
template <class Rule>
void add_push(const SharedGpu& device, const std::string& rule, std::vector<Benchmark>& out) {
  const std::string name = cat("gpu/push/", rule), unfused = cat(name, "/unfused");
  out.push_back({.name = unfused,
                 .help = "the same by a sort, a sum, rows read, a step, and rows set",
                 .unit = "rows",
                 .make = make_on<UnfusedSteps<Rule>>(device, kWide),
                 .limit = "gpu/copy"});
  out.push_back(
      {.name = name,
       .help = cat("gradients of 1 M look-ups of rows of 64, Zipf 1.05, merged and stepped by ", rule),
       .unit = "rows",
       .make = make_on<Steps<Rule>>(device, kWide),
       .limit = "gpu/copy",
       .peers = {unfused}});
  if (std::is_same_v<Rule, Adagrad>) out.back().peers.emplace_back(kCpuPush);
}

}  // namespace

std::vector<Benchmark> device_pushes(const SharedGpu& device) {
  std::vector<Benchmark> out;
  add_push<Sgd>(device, "sgd", out);
  add_push<Adagrad>(device, "adagrad", out);
  out.push_back(
      {.name = "gpu/step/adam",
       .help = "1 M look-ups of rows of 128, Zipf 1.05, pulled; then their gradients pushed, by adam",
       .unit = "rows",
       .make = make_on<PullAndPush>(device, kWidest),
       .limit = "gpu/copy"});
  return out;
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
