// AllReduceStore: the parameters in every trainer's own process, moved by the same steps in all of them, since they
// add up their gradients before each.  Used by the strategies all_reduce, dgc and
// power_sgd, and before the first interval of AveragingStore.
//
// A step is that of servers, bit for bit, where the communicator adds in rank order: gradients are summed over the
// trainers in that order, statistics have the weights of their examples, and the optimizer runs on the sums.
// Gradients that a GradientCompression compresses are left to that.
//
// Arrays are exchanged in groups (collective/fused.h), the last of the model first.  Backward computes gradients in about
// that order: with begin_push, a group is exchanged on a thread of the store as soon as its gradients are final, while
// backward goes on.  The groups and their order depend on the model alone, so trainers without data, and those
// that exchange after backward, make the same calls.
//
// A trainer has the whole gradient of its own columns of a parameter that is split, and none of the others, and moves
// those alone.  Where a pass ends or a checkpoint begins all get the columns of all, with the optimizer's state.
#ifndef PS_STORE_ALL_REDUCE_STORE_H_
#define PS_STORE_ALL_REDUCE_STORE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ordered_worker.h"
#include "collective/communicator.h"
#include "store/collective_run.h"
#include "store/compression_device.h"
#include "store/gradient_compression.h"
#include "store/local_store.h"
#include "store/split_columns.h"
#include "store/step_header.h"
#include "store/store_in_front.h"

namespace ps {

// Throws kUsage when a parameter is sparse, or its rows come and go: those of a step differ from trainer to trainer.
void check_all_dense(std::span<const ParameterSpec> specs);

// The device that computes the model, and the parameters whose gradients are made there.  Null: the processor.
struct GradientPlacement {
  std::shared_ptr<CompressionDevice> device = nullptr;
  std::vector<bool> on_device = {};
};

// One owner thread, that of the communicator, whose turn it is except between begin_push and end_begun_push or push.  Every
// step is an all-reduce that all trainers take part in; those who have no data left in a pass do so in end_pass.  Calls
// throw what the communicator throws.
class AllReduceStore final : public StoreInFront {
 public:
  // `specs`, all dense, are those of `local`, which nobody else pushes to; `compression` is null when all gradients
  // are exchanged whole.  All arguments by reference or pointer outlive the store.  Gradients that are made on the device of
  // `placement` stay there, and the device moves the weights: where the communicator reaches its memory, they are added up
  // there; else they come to the processor, and their sums go back.
  AllReduceStore(std::vector<ParameterSpec> specs, LocalStore& local, Communicator& communicator,
                 CollectiveRun& run, GradientCompression* compression = nullptr,
                 GradientPlacement placement = {});

  void pull(std::span<const KeyPlan> plans, PullMode mode,
            std::vector<ParameterView<float>>& views) override {
    local_.pull(plans, mode, views);
    if (mode == PullMode::kTrain) show_there(views);
  }
  bool may_wait() const override { return true; }
  void begin_push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                  const StepInfo& info) override;
  void final_gradient(size_t parameter) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;

  void on_step_without_data(std::function<void(std::span<const ParameterView<float>>)> compute) override {
    compute_for_others_ = std::move(compute);
  }

  // Ends the exchanges that begin_push has begun, as push does first: the owner thread may then use the communicator again.
  void end_begun_push();

  // Takes part in the steps of the others.  Throws WaitStopped when the run ends before the pass.
  void end_pass(int64_t pass) override;

  // Makes one step without a batch of this trainer; returns false when no trainer had a batch.  Throws as end_pass.
  bool join_step(int64_t pass);

  // As join_step, but does not throw when the run ends with the step.
  bool join_or_end(int64_t pass);

  StoreTimes times() const override { return {.waiting = exchange_seconds_}; }

  // The bytes that all steps so far would have sent without compression, by the all-reduce direct or ring.
  uint64_t whole_bytes() const { return whole_bytes_; }

  // The bytes that one step sends so.
  uint64_t step_bytes() const;

  // The parameters that the device moves; and where their gradients are added up, which is there if this is true.
  size_t num_there() const;
  bool adds_there() const { return adds_there_; }

 private:
  // Arrays of one all-reduce.
  struct Group {
    std::span<const Elements> arrays;
    std::vector<size_t> parameters;
    size_t not_final = 0;  // of these
  };

  // The exchanges of the step that runs: with header_ahead that of the header, then one for each group.
  struct Exchanges {
    std::span<const KeyPlan> plans = {};  // empty: of a trainer that has no data
    std::span<const ParameterView<float>> views = {};
    StepHeader own = {};
    bool compresses = false, header_ahead = false;
    std::vector<Elements> arrays = {};  // in the order of the model, the header last
    std::vector<Group> groups = {};     // in the order in which they are exchanged
    size_t num_done = 0, num_allowed = 0;

    size_t num() const { return groups.size() + (header_ahead ? 1 : 0); }
  };

  void show_there(std::vector<ParameterView<float>>& views);
  void exchange_there();
  bool passes_by(size_t parameter) const { return there_[parameter] != nullptr && !adds_there_; }
  bool finish_step();
  void plan_exchanges(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                      const StepHeader& own);
  void plan_groups(std::span<const size_t> parameters);
  Elements array_of(size_t parameter);
  void exchange(size_t index);
  void compress(std::span<const ParameterView<float>> views, const StepInfo& info);
  void fill(size_t parameter);
  void fill_rows(const KeyPlan* plan, const ParameterView<float>& view, const ParameterSpec& spec,
                 std::vector<float>& rows) const;
  void weigh_statistic(size_t parameter);
  void apply(std::span<const ParameterView<float>> views, const StepInfo& info);
  bool is_moved(size_t parameter) const { return compressed_[parameter] && compression_->moves_weights(); }
  void find_used_rows(size_t parameter, const std::vector<float>& rows, KeyPlan& plan) const;

  const std::vector<ParameterSpec> specs_;
  const bool has_statistics_;
  LocalStore& local_;
  Communicator& communicator_;
  SplitColumns split_;
  CollectiveRun& run_;
  GradientCompression* const compression_;  // null: there is none
  const GradientPlacement placement_;
  const bool adds_there_;                           // the communicator does, on the device of placement_
  std::vector<std::unique_ptr<DenseThere>> there_;  // by parameter; null: the processor has it
  std::vector<bool> compressed_;                    // by parameter, in this step
  std::vector<float> header_;
  // By parameter, of those that batches do not use whole: gradients [rows, cols] and how many trainers have used
  // each row [rows]; of statistics, weighed values [rows, cols]; of those that pass by the processor, gradients.
  std::vector<std::vector<float>> arrays_;
  double exchange_seconds_ = 0;  // that the owner has waited
  uint64_t whole_bytes_ = 0;
  Exchanges exchanges_;
  std::vector<size_t> group_of_;  // by parameter, of exchanges_; unspecified of those that are compressed
  std::function<void(std::span<const ParameterView<float>>)> compute_for_others_ = [](auto) {};
  OrderedWorker worker_;  // ends before all that it uses
};

}  // namespace ps

#endif  // PS_STORE_ALL_REDUCE_STORE_H_
