// AllReduceStore: the parameters in every trainer's own process.  All trainers move them by the same steps,
// since they add up their gradients before each step.  Used by the strategies all_reduce, dgc and power_sgd,
// and before the first interval of AveragingStore.
//
// A step gives the same bits as a step of servers if the communicator adds in rank order: gradients are
// summed over the trainers in that order, statistics are weighted by their examples, and the optimizer runs
// on the sums.  A GradientCompression exchanges the gradients that it compresses itself, in groups of their own.
//
// Arrays are exchanged in groups (collective/fused.h; compressed ones: store/compressed_groups.h), the last of the model
// first, since backward computes
// gradients in about that order.  With begin_push, a thread of the store exchanges a group as soon as its
// gradients are final, while backward goes on.  The groups and their order depend on the model and on `groups` alone, so
// trainers without data, and trainers that exchange after backward, make the same calls.
//
// A trainer has the whole gradient of its own columns of a parameter that is split, and no gradient of the
// other columns; it moves its own columns alone.  At the end of a pass and before a checkpoint, all trainers
// get the columns of all, with the optimizer's state.
#ifndef PS_STORE_ALL_REDUCE_STORE_H_
#define PS_STORE_ALL_REDUCE_STORE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ordered_worker.h"
#include "collective/communicator.h"
#include "store/collective_run.h"
#include "store/compressed_groups.h"
#include "store/compression_device.h"
#include "store/gradient_compression.h"
#include "store/local_store.h"
#include "store/split_columns.h"
#include "store/step_header.h"
#include "store/store_in_front.h"

namespace ps {

// Throws kUsage if a parameter is sparse, or if its rows come and go: the rows of a step differ from trainer
// to trainer.
void check_all_dense(std::span<const ParameterSpec> specs);

// The device that computes the model, and the parameters whose gradients are made there.  A null device is
// the processor.
struct GradientPlacement {
  std::shared_ptr<CompressionDevice> device = nullptr;
  std::vector<bool> on_device = {};
};

// One owner thread, that of the communicator.  Between begin_push and end_begun_push or push, the store's
// thread uses the communicator, and the owner must not.  Every step is an all-reduce in which all trainers
// take part; trainers that have no data left in a pass do so in end_pass.  Calls throw what the communicator
// throws.
class AllReduceStore final : public StoreInFront {
 public:
  // `specs`, all dense, are those of `local`, to which nothing else may push; `compression` is null if all
  // gradients are exchanged whole.  All arguments by reference or pointer outlive the store.  Gradients that
  // are made on the device of `placement` stay there, and the device moves the weights.  If the communicator
  // reaches the device's memory, the gradients are added up there; else they come to the processor, and their
  // sums go back.  `groups`, those of the compression, are the same for all trainers.
  AllReduceStore(std::vector<ParameterSpec> specs, LocalStore& local, Communicator& communicator,
                 CollectiveRun& run, GradientCompression* compression = nullptr,
                 GradientPlacement placement = {}, CompressedGroups groups = CompressedGroups::kSeveral);

  void pull(std::span<const KeyPlan> plans, PullMode mode,
            std::vector<ParameterView<float>>& views) override {
    local_.pull(plans, mode, views);
    if (mode == PullMode::kTrain) bind_there(views);
  }
  bool may_wait() const override { return true; }
  // Returns true if begin_push begins exchanges, where there are several groups of arrays.
  bool exchanges_early() const {
    return communicator_.size() > 1 && !split_.any() && communicator_.may_change_threads() &&
           (adds_there_ || num_there() == 0);
  }
  void begin_push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                  const StepInfo& info) override;
  void final_gradient(size_t parameter) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;

  void on_step_without_data(std::function<void(std::span<const ParameterView<float>>)> compute) override {
    compute_for_others_ = std::move(compute);
  }

  // Ends the exchanges that begin_push has begun, as push does first.  The owner thread may then use the
  // communicator again.
  void end_begun_push();

  // Takes part in the steps of the others.  Throws WaitStopped if the run ends before the pass.
  void end_pass(int64_t pass) override;

  // Makes one step without a batch of this trainer.  Returns false if no trainer had a batch.  Throws as
  // end_pass does.
  bool join_step(int64_t pass);

  // Works as join_step, but does not throw if the run ends with the step.
  bool join_or_end(int64_t pass);

  StoreTimes times() const override { return {.waiting = exchange_seconds_}; }

  // Returns the bytes that all steps so far would have sent without compression, by the all-reduce direct or
  // ring.
  uint64_t whole_bytes() const { return whole_bytes_; }

  // Returns the bytes that one step would send in this way.
  uint64_t step_bytes() const;

  // num_there returns the number of parameters that the device moves. adds_there returns true if their
  // gradients are added up on the device.
  size_t num_there() const;
  bool adds_there() const { return adds_there_; }

 private:
  // The arrays of one all-reduce, or the parameters of one step of the compression.
  struct Group {
    std::span<const Elements> arrays = {};
    std::vector<size_t> parameters = {};
    size_t not_final = 0;  // parameters of the group whose gradients are not final
    bool compressed = false;
  };

  // The exchanges of the present step: with header_ahead the exchange of the header, then one for each group.
  struct Exchanges {
    std::span<const KeyPlan> plans = {};  // empty: this trainer has no data
    std::span<const ParameterView<float>> views = {};
    StepHeader own = {};
    bool compresses = false, header_ahead = false;
    std::vector<Elements> arrays = {};     // in the order of the model, the header last
    std::vector<Group> groups = {};        // in the order in which they are exchanged
    size_t num_done = 0, num_allowed = 0;  // exchanges that are done; that the worker may make

    size_t num() const { return groups.size() + (header_ahead ? 1 : 0); }
  };

  void bind_there(std::vector<ParameterView<float>>& views);
  void exchange_there();
  bool passes_by(size_t parameter) const { return there_[parameter] != nullptr && !adds_there_; }
  bool finish_step();
  void plan_exchanges(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                      const StepHeader& own);
  void plan_groups(std::span<const size_t> parameters);
  void plan_compressed_groups();
  Elements array_of(size_t parameter);
  void exchange(size_t index);
  void compress(const Group& group);
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
  const CompressedGroups compressed_groups_;
  const GradientPlacement placement_;
  const bool adds_there_;                           // the communicator adds on the device of placement_
  std::vector<std::unique_ptr<DenseThere>> there_;  // by parameter; null: the processor has it
  std::vector<bool> compressed_;                    // by parameter, in the present step
  std::vector<float> header_;
  // By parameter, for those whose gradients are not exchanged in place.  Rows: gradients [rows, cols], then
  // the number of trainers that have used each row [rows].  Statistics: weighted values [rows, cols].
  // Gradients that pass by the processor: [rows, cols].
  std::vector<std::vector<float>> arrays_;
  double exchange_seconds_ = 0;  // time that the owner has waited
  uint64_t whole_bytes_ = 0;
  Exchanges exchanges_;
  // By parameter, its group in exchanges_; unspecified for parameters without one.
  std::vector<size_t> group_of_;
  std::function<void(std::span<const ParameterView<float>>)> compute_for_others_ = [](auto) {};
  OrderedWorker worker_;  // last member: ends before all that it uses
};

}  // namespace ps

#endif  // PS_STORE_ALL_REDUCE_STORE_H_
