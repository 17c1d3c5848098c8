// StepRule: the learning rate and the scale of the gradient, from step to step.  Used by whoever applies
// steps: the local store and every shard, which therefore agree.
#ifndef PS_OPTIM_STEP_RULE_H_
#define PS_OPTIM_STEP_RULE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "optim/schedule.h"

namespace ps {

// What a trainer knows of the step that its gradients belong to.
struct StepInfo {
  int64_t samples = 0;  // examples that the gradients are summed over
  int64_t pass = 0;
  bool shrink = false;  // rows are to be judged after this step, as at the end of a pass (optim/row_policy.h)
};

struct StepSize {
  double learning_rate = 0;  // schedule applied
  float scale = 1;           // of the gradients' sum
  bool shrink = false;       // rows are to be judged after the step
};

// One owner thread.
class StepRule {
 public:
  // `mean`: over the examples of a step; else their sum.
  StepRule(std::shared_ptr<const Schedule> schedule, bool mean)
      : schedule_(std::move(schedule)), mean_(mean) {}

  // Begins the next step.
  StepSize next(const StepInfo& info) {
    learning_rate_ = schedule_->rate({samples_, steps_, info.pass});
    samples_ += info.samples;
    ++steps_;
    bool divide = mean_ && info.samples > 0;
    return {learning_rate_, divide ? 1.0f / static_cast<float>(info.samples) : 1.0f, info.shrink};
  }

  // For checkpoints.  load throws kCorrupt.
  void save(std::string& out) const {
    put(out, samples_);
    put(out, steps_);
    put(out, learning_rate_);
  }
  void load(ByteReader& in) {
    samples_ = in.get<int64_t>();
    steps_ = in.get<int64_t>();
    learning_rate_ = in.get<double>();
    if (!in.ok() || samples_ < 0 || steps_ < 0) fail(Code::kCorrupt, "state of the schedule is cut short");
  }

  int64_t samples() const { return samples_; }
  int64_t steps() const { return steps_; }
  double learning_rate() const { return learning_rate_; }  // of the last step

 private:
  std::shared_ptr<const Schedule> schedule_;
  bool mean_;
  int64_t samples_ = 0, steps_ = 0;  // of all steps so far
  double learning_rate_ = 0;
};

}  // namespace ps

#endif  // PS_OPTIM_STEP_RULE_H_
