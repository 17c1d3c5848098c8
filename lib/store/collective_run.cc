#include "store/collective_run.h"

namespace ps {

StepWishes CollectiveRun::wishes() {
  const bool due = rank_ == 0 && due_();
  return {.checkpoint = due || checkpoint_asked_ || end_asked_, .end = end_asked_};
}

void CollectiveRun::end_step(const StepWishes& of_all) {
  ends_ |= of_all.end;
  if (!of_all.checkpoint) return;
  checkpoint_asked_ = false;
  take_checkpoint_();
}

}  // namespace ps
