#include "ps/server/step_runner.h"

namespace ps {

// Some rows may have made the step and others not, so that no later request gets a right answer.
void StepRunner::fail(const Error& error) {
  applier_.abandon();
  broken_ = error.within(cat("step ", applier_.num_steps()));
  calls_.failed(*broken_);
}

void StepRunner::on_busy(std::function<void()> busy) {
  on_busy_ = std::move(busy);
  applier_.set_slice_work(slice_work_);
}

void StepRunner::go_on() {
  if (!busy()) return;
  run(calls_.go_on);
  if (!busy()) calls_.ended();
}

// A call with unlimited work ends the step.
void StepRunner::finish() {
  if (!busy()) return;
  applier_.set_slice_work(SliceWork::kUnlimited);
  go_on();
  applier_.set_slice_work(slice_work_);
}

}  // namespace ps
