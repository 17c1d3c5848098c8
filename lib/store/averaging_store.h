// AveragingStore: the parameters in every trainer's own process.  Each trainer trains them by itself for some
// steps, an interval; then all trainers bring their weights together.  Used by the strategies post_local_sgd,
// adaptive_local_sgd, slow_momentum, diloco and sparse_diloco.
//
// At the end of an interval each trainer has moved from the weights s, with which all began, to weights of
// its own.  The moves are averaged, each weighted by the examples on which its trainer has trained, and an
// outer step (store/outer_step.h) leads from s to the weights with which all go on.  Until `begin_step`, all
// trainers make the steps of AllReduceStore together.
//
// A pass ends with an interval.  A checkpoint is taken at the end of the interval in which it was asked for,
// where all trainers have the same weights.
#ifndef PS_STORE_AVERAGING_STORE_H_
#define PS_STORE_AVERAGING_STORE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/communicator.h"
#include "store/all_reduce_store.h"
#include "store/collective_run.h"
#include "store/local_interval.h"
#include "store/local_store.h"
#include "store/outer_step.h"
#include "store/parameter_store.h"
#include "store/sparse_moves.h"

namespace ps {

// The treatment of the state of the trainers' optimizers, such as momentum, when weights are brought together.
enum class OptimizerStateRule {
  kLocal,     // each trainer keeps its own
  kReset,     // it begins anew
  kAveraged,  // all trainers get the mean, weighted as the moves are
};

struct AveragingOptions {
  int64_t begin_step = 0;  // the first step that a trainer makes by itself
  IntervalOptions interval;
  OptimizerStateRule optimizer_state = OptimizerStateRule::kLocal;
  OuterOptions outer;
  std::optional<SparseMovesOptions> sparse;  // nothing: moves are exchanged whole
};

// One owner thread, that of the communicator.  Calls throw what the communicator throws.
class AveragingStore final : public ParameterStore {
 public:
  // `specs`, all dense, are those of `local`, to which nothing else may push.  All arguments by reference
  // outlive the store.
  AveragingStore(const AveragingOptions& options, std::vector<ParameterSpec> specs, LocalStore& local,
                 Communicator& communicator, CollectiveRun& run);

  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  bool may_wait() const override { return true; }
  void begin_push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                  const StepInfo& info) override {
    if (makes_whole_steps()) whole_.begin_push(plans, views, info);
  }
  void final_gradient(size_t parameter) override { whole_.final_gradient(parameter); }
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  double learning_rate() const override { return local_.learning_rate(); }

  // Ends the interval, and takes part in the intervals of the others.  Throws WaitStopped if the run ends
  // before the pass.
  void end_pass(int64_t pass) override;

  std::vector<uint64_t> keys(int parameter) override { return local_.keys(parameter); }
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override {
    local_.read_rows(parameter, keys, weights);
  }
  void read_all(int parameter, float* weights) override { local_.read_all(parameter, weights); }
  StoreTimes times() const override { return {.waiting = whole_.times().waiting + exchange_seconds_}; }
  RowReport row_report(int parameter) override { return local_.row_report(parameter); }
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override {
    local_.load_rows(parameter, keys, weights);
  }
  void load_all(int parameter, const float* weights) override { local_.load_all(parameter, weights); }

  // Returns the bytes that an all-reduce of gradients in every step so far would have sent.
  uint64_t whole_bytes() const { return whole_bytes_ + whole_.whole_bytes(); }

  // Save and load the state of this trainer at the end of an interval, for checkpoints: the interval, the
  // outer momentum, the state of its own optimizers, and what it has not sent of its moves. load is for a new
  // object whose LocalStore was restored; it throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

 private:
  // An interval of one trainer; or, at its end, the sum over all.
  struct Interval {
    int64_t steps = 0;  // of one trainer; of all: the most of one trainer
    int64_t samples = 0;
    double cost = 0;
    double rates = 0;          // the sum of the learning rates of the steps
    int64_t steps_of_all = 0;  // sum over all trainers, at the end
    StepWishes wishes;         // since the last interval
  };

  bool makes_whole_steps() const { return local_.schedule().steps() < options_.begin_step; }

  // end_interval calls gather_intervals, which adds up the intervals of all trainers, bring_together, which
  // averages the weights, and bring_state_together, which averages the state of the optimizers.
  void begin();
  bool join_interval(int64_t pass);
  bool end_interval(int64_t pass);
  Interval gather_intervals();
  void bring_together(float share, float rate);
  void exchange_moves();
  void bring_state_together(float share);
  bool trains(size_t parameter) const { return specs_[parameter].kind != ParameterKind::kStatistic; }

  const AveragingOptions options_;
  const std::vector<ParameterSpec> specs_;
  LocalStore& local_;
  Communicator& communicator_;
  CollectiveRun& run_;
  AllReduceStore whole_;  // the steps before begin_step
  std::optional<SparseMoves> sparse_;

  bool begun_ = false;  // the first interval has begun
  LocalInterval interval_;
  Interval own_;                                 // the present interval so far
  int64_t start_samples_ = 0, start_steps_ = 0;  // of the schedule, at the beginning of the interval
  std::vector<std::vector<float>> start_;        // by parameter: the weights with which the interval began
  std::vector<std::vector<float>> momentum_;     // by parameter: momentum of the outer steps
  double exchange_seconds_ = 0;
  uint64_t whole_bytes_ = 0;
};

}  // namespace ps

#endif  // PS_STORE_AVERAGING_STORE_H_
