// StepRule: computes the learning rate and the scale of the gradient of each step.  Used by the local store
// and by every shard, which therefore use the same values.
#ifndef PS_OPTIM_STEP_RULE_H_
#define PS_OPTIM_STEP_RULE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "optim/schedule.h"

namespace ps {

// The facts that a trainer reports about the step of its gradients.
struct StepInfo {
  int64_t samples = 0;  // number of examples over which the gradients are summed
  int64_t pass = 0;
  bool shrink = false;  // the table shrinks after this step, as at the end of a pass (optim/row_policy.h)
  double cost = 0;      // sum over the examples, for strategies whose exchanges depend on it
};

struct StepSize {
  double learning_rate = 0;  // schedule applied
  float scale = 1;           // factor of the sum of gradients
  bool shrink = false;       // the table shrinks after the step
};

// One owner thread.
class StepRule {
 public:
  // `mean`: the gradient of a step is the mean over its examples; otherwise their sum.
  StepRule(std::shared_ptr<const Schedule> schedule, bool mean)
      : schedule_(std::move(schedule)), mean_(mean) {}

  // Begins the next step, and returns its rate and scale.
  StepSize next(const StepInfo& info) {
    learning_rate_ = schedule_->rate({samples_, steps_, info.pass});
    samples_ += info.samples;
    ++steps_;
    bool divide = mean_ && info.samples > 0;
    return {learning_rate_, divide ? 1.0f / static_cast<float>(info.samples) : 1.0f, info.shrink};
  }

  // Sets the totals, if the steps of several trainers are counted together.
  void set_progress(int64_t samples, int64_t steps) { samples_ = samples, steps_ = steps; }

  // Save to and load from checkpoints. load throws kCorrupt.
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

  // Takes over the state that save wrote elsewhere, if it is further on.  Throws kCorrupt.
  void advance(ByteReader& in) {
    StepRule other = *this;
    other.load(in);
    if (other.samples() >= samples()) *this = other;
  }

  int64_t samples() const { return samples_; }
  int64_t steps() const { return steps_; }
  double learning_rate() const { return learning_rate_; }  // the rate of the last step

 private:
  std::shared_ptr<const Schedule> schedule_;
  bool mean_;
  int64_t samples_ = 0, steps_ = 0;  // totals of all steps so far
  double learning_rate_ = 0;
};

}  // namespace ps

#endif  // PS_OPTIM_STEP_RULE_H_
