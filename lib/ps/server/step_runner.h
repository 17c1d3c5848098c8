// StepRunner: applies the steps of a shard, and answers its trainers' pulls, at once or in slices.  While that
// is done in slices the shard is busy.  Readers are answered in between, from rows that are each as before the
// step or as after it.  All other requests wait, or make the shard apply the rest of the step at once.  Used by
// Shard.
#ifndef PS_PS_SERVER_STEP_RUNNER_H_
#define PS_PS_SERVER_STEP_RUNNER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ps/server/step_applier.h"

namespace ps {

// One owner thread, that of the shard.
class StepRunner {
 public:
  // The functions of the shard that the runner calls.
  struct Calls {
    std::function<void()> go_on;   // goes on with the steps that are under way
    std::function<void()> settle;  // no step is under way any more: does what follows from the request
    std::function<void()> ended;   // like settle, for a step that has ended in a slice of its own
    std::function<void(const Error&)> failed;  // refuses all waiting requests
    std::function<bool()> answers = {};        // returns true while pulls are answered
  };

  // `applier` outlives this.  A slice has about `slice_work` (SliceWork) of work.
  StepRunner(StepApplier& applier, uint64_t slice_work, Calls calls)
      : applier_(applier), slice_work_(slice_work), calls_(std::move(calls)) {}

  // `busy` is called when there is more to do of a step, and after every slice until its end: go_on must then
  // be called soon.  Without it steps are applied at once.
  void on_busy(std::function<void()> busy);

  bool busy() const { return applier_.busy() || (calls_.answers && calls_.answers()); }
  void go_on();
  void finish();  // applies all that is left at once

  // Runs `body`, which applies steps.  A step that fails half way breaks the shard: all waiting and all later
  // requests are refused.
  template <class Body>
  void run(Body&& body);

  // To be called when pulls may have made the shard busy.
  void note_answers() {
    if (busy() && on_busy_) on_busy_();
  }

  // Does what follows from a request, unless a step is under way.
  void settle() {
    if (!busy()) calls_.settle();
  }

  // check throws the error of the step that has broken the shard, if there is one.
  bool broken() const { return broken_.has_value(); }
  void check() const {
    if (broken_) throw *broken_;
  }

  // While the changes of a log are repeated, steps are applied at once.
  void begin_replay() { applier_.set_slice_work(SliceWork::kUnlimited); }
  void end_replay() {
    if (on_busy_) applier_.set_slice_work(slice_work_);
  }

 private:
  void fail(const Error& error);

  StepApplier& applier_;
  const uint64_t slice_work_;
  const Calls calls_;
  std::function<void()> on_busy_;
  std::optional<Error> broken_;  // set: the shard is broken
};

template <class Body>
void StepRunner::run(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    fail(error);
  }
  note_answers();
}

}  // namespace ps

#endif  // PS_PS_SERVER_STEP_RUNNER_H_
