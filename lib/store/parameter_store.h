// ParameterStore: holds the parameters of a job, in the trainer's process or on servers.  It is the only
// interface that the training loop uses.
//
// Pull and push both use unique keys in the plan's order with one row each.  Rows are used in place; nothing
// is copied to change its shape.
#ifndef PS_STORE_PARAMETER_STORE_H_
#define PS_STORE_PARAMETER_STORE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "math/key_plan.h"
#include "optim/parameter.h"
#include "optim/step_rule.h"

namespace ps {

// The purpose of a pull. kTrain: missing rows are created, and push follows. kRead: nothing changes, and
// averaged weights are given if the job averages.
enum class PullMode { kTrain, kRead };

// A pull that was begun.
struct PullTicket {
  uint64_t number = 0;  // 0: no pull was begun

  explicit operator bool() const { return number != 0; }
};

// The time that the owner thread has spent in a store, in seconds.
struct StoreTimes {
  double waiting = 0;        // waiting for servers, and through them for other trainers
  double communicating = 0;  // making, sending, receiving and reading messages
};

// One owner thread.  A parameter is named by its index in the list of specs for which the store was made.
class ParameterStore {
 public:
  virtual ~ParameterStore() = default;

  // The order that keys of plans must have.  If they must ascend, other plans are a mistake of the caller,
  // which aborts.
  virtual KeyOrder key_order() const { return KeyOrder::kFirstAppearance; }

  // Returns false while rows are where this trainer cannot read them: on devices of other trainers.  Models cannot be
  // read then.
  virtual bool has_all_rows() const { return true; }

  // views[p] <- the weights of parameter p, up to date with all steps pushed: whole, or the rows of plans[p].
  // Gradient buffers are set too in kTrain.  Valid until the next pull.
  virtual void pull(std::span<const KeyPlan> plans, PullMode mode,
                    std::vector<ParameterView<float>>& views) = 0;

  // May be called between pull and push: begins the next pull to train, so that its rows are fetched
  // meanwhile.  Returns an empty ticket if nothing was begun, and pull must be called.
  virtual PullTicket begin_pull(std::span<const KeyPlan> plans) {
    (void)plans;
    return {};
  }

  // Completes the pull of the last ticket, with the same plans, like pull with kTrain.  Another pull makes a
  // ticket void.
  virtual void finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                           std::vector<ParameterView<float>>& views) {
    (void)ticket;
    pull(plans, PullMode::kTrain, views);
  }

  // Returns how many batches after the present one the store wants to be told of. look_ahead tells it of them
  // in their order, so that it has their rows when they are pulled.  The batch that it was told of first is
  // the next that is pulled to train and pushed.
  virtual size_t looks_ahead() const { return 0; }
  virtual void look_ahead(std::span<const KeyPlan> plans) { (void)plans; }

  // Tells the store that looks ahead that it has been told of all batches of the pass, so that it can return rows that
  // none of them uses.  May be called again, and more batches may come all the same.
  virtual void end_looking_ahead() {}

  // Runs `compute`, which computes the batch that was pulled, on some thread, and meanwhile does the work for
  // other processes.  Throws what `compute` throws.
  virtual void run_beside(const std::function<void()>& compute) { compute(); }

  // Returns true if calls may block on other processes, so that overlapping them with other work pays.
  virtual bool may_wait() const { return false; }

  // May be called between forward and push, with the arguments of the push that follows.  The store may then
  // exchange gradients while others are still computed; final_gradient says that nothing is added to a
  // gradient any more.  Until push no other function may be called.
  virtual void begin_push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                          const StepInfo& info) {
    (void)plans, (void)views, (void)info;
  }
  virtual void final_gradient(size_t parameter) { (void)parameter; }

  // For a model with divided layers: the store calls `compute` whenever this trainer takes part in a step
  // without a batch, with the views of all parameters.  `compute` then computes this trainer's part of the
  // others' batches.
  virtual void on_step_without_data(std::function<void(std::span<const ParameterView<float>>)> compute) {
    (void)compute;
  }

  // Makes one step with the gradients in `views`, which the last pull gave and backward has filled in: sums
  // over the `info.samples` examples of the batch.  May return before the step is applied.
  virtual void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                    const StepInfo& info) = 0;

  // Returns the rate of the last step that is known to be applied; 0 before the first.
  virtual double learning_rate() const = 0;

  // Ends pass `pass` for this trainer: waits until all other trainers have ended it too.
  virtual void end_pass(int64_t pass) = 0;

  // For models. keys returns the keys of a sparse parameter's rows in ascending order, and read_rows the
  // weights [keys, cols] of some of them, whose keys must ascend too. read_all returns all weights [rows,
  // cols] of any other parameter.  The weights are those of PullMode::kRead.
  virtual std::vector<uint64_t> keys(int parameter) = 0;
  virtual void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) = 0;
  virtual void read_all(int parameter, float* weights) = 0;

  // Returns the time spent in pull, begin_pull, push and end_pass so far; zero without servers, where all
  // time is spent computing.
  virtual StoreTimes times() const { return {}; }

  // Returns the counts of a sparse parameter's row policy, which the parameter must have.
  virtual RowReport row_report(int parameter) = 0;

  // Sets weights, as if training began with them.  Keys must ascend.
  virtual void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) = 0;
  virtual void load_all(int parameter, const float* weights) = 0;
};

}  // namespace ps

#endif  // PS_STORE_PARAMETER_STORE_H_
