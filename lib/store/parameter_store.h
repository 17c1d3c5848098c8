// ParameterStore: where the parameters of a job are.  The training loop is written once, against this
// interface.
//
// One type travels: unique keys in the plan's order with one row each.  That is the answer of a pull, the
// body of a push.  Rows are used where they lie; nothing is copied to change its shape.
#ifndef PS_STORE_PARAMETER_STORE_H_
#define PS_STORE_PARAMETER_STORE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "math/key_plan.h"
#include "optim/parameter.h"
#include "optim/step_rule.h"

namespace ps {

// Why rows are pulled: to be trained (they are created, and push follows), or to be read alone (nothing
// changes, and averaged weights are given where the job averages).
enum class PullMode { kTrain, kRead };

// A pull that was begun.
struct PullTicket {
  uint64_t number = 0;  // 0: none was

  explicit operator bool() const { return number != 0; }
};

// The time of its owner that a store has taken, in seconds.
struct StoreTimes {
  double waiting = 0;        // for servers, and by way of them for other trainers
  double communicating = 0;  // making, sending, receiving and reading messages
};

// One owner thread.  Parameters go by their number in the list of ParameterSpecs that the store was made for.
class ParameterStore {
 public:
  virtual ~ParameterStore() = default;

  // The order of keys in plans that it is given: where they are to ascend, others are a fault of the caller's,
  // which ends the process.
  virtual KeyOrder key_order() const { return KeyOrder::kFirstAppearance; }

  // views[p] <- the weights of parameter p, up to date with all steps pushed: whole, or the rows of plans[p].
  // Gradient buffers are set too in kTrain.  Good until the next pull.
  virtual void pull(std::span<const KeyPlan> plans, PullMode mode,
                    std::vector<ParameterView<float>>& views) = 0;

  // Between pull and push: begins the next pull to train, so that its rows are on their way meanwhile.  An
  // empty ticket: nothing was begun, and pull is to be called.
  virtual PullTicket begin_pull(std::span<const KeyPlan> plans) {
    (void)plans;
    return {};
  }

  // As pull to train, of what was begun last, with the same plans.  A ticket is void after another pull.
  virtual void finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                           std::vector<ParameterView<float>>& views) {
    (void)ticket;
    pull(plans, PullMode::kTrain, views);
  }

  // True when calls may wait for others, so that it pays to do something else meanwhile.
  virtual bool may_wait() const { return false; }

  // One step with the gradients in `views`, as the last pull gave them and backward filled them: sums over
  // the `info.samples` examples of the batch.  May return before the step is applied.
  virtual void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                    const StepInfo& info) = 0;

  // The rate of the last step that is known to be applied; 0 before the first.
  virtual double learning_rate() const = 0;

  // This trainer has no more data in pass `pass`: waits until the others have none either.
  virtual void end_pass(int64_t pass) = 0;

  // For models.  A sparse parameter gives the keys of its rows, ascending, and the weights [keys, cols] of some
  // of them, whose keys ascend; another gives all weights [rows, cols].  Weights are those that PullMode::kRead
  // gives.
  virtual std::vector<uint64_t> keys(int parameter) = 0;
  virtual void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) = 0;
  virtual void read_all(int parameter, float* weights) = 0;

  // In pull, begin_pull, push and end_pass so far; zero in one process, where all of it is computing.
  virtual StoreTimes times() const { return {}; }

  // Counts the rows that came and went by a sparse parameter's policy, which it must have.
  virtual RowReport row_report(int parameter) = 0;

  // Sets weights, as if training began with them.  Keys ascend.
  virtual void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) = 0;
  virtual void load_all(int parameter, const float* weights) = 0;
};

}  // namespace ps

#endif  // PS_STORE_PARAMETER_STORE_H_
