// PassTimes: the parts of the time of a training loop.  Used by Trainer and Reporter.
#ifndef PS_TRAIN_PASS_TIMES_H_
#define PS_TRAIN_PASS_TIMES_H_

#include "base/clock.h"
#include "config/fwd.h"
#include "store/parameter_store.h"

namespace ps {

// Measures the time of the loop's thread since construction; the four parts add up to `seconds`.  It reads the
// clock twice a batch.  One owner thread.
class PassTimes {
 public:
  explicit PassTimes(const ParameterStore& store) : store_(store), store_before_(store.times()) {}

  // Runs `body`, which gets the next batch, and counts its time as reading.
  template <class Body>
  auto reading(Body&& body) {
    ScopedSeconds timer(reading_);
    return body();
  }

  // Runs `body`, whose time does not belong to the pass, nor to any part of it.
  template <class Body>
  auto leaving_out(Body&& body) {
    const LeavesOut leaves_out(*this);
    return body();
  }

  // Returns seconds, and its parts: reading_seconds, waiting_seconds, communicating_seconds, and
  // computing_seconds, which is the rest: forward, backward, measures, and in one process the tables.
  Json json() const;

  double seconds() const { return monotonic_seconds() - start_ - left_out_; }

 private:
  // Leaves out its own lifetime, and what the store does in it.
  class LeavesOut {
   public:
    explicit LeavesOut(PassTimes& times)
        : times_(times), store_before_(times.store_.times()), timer_(times.left_out_) {}
    ~LeavesOut() {
      const StoreTimes store = times_.store_.times();
      times_.store_before_.waiting += store.waiting - store_before_.waiting;
      times_.store_before_.communicating += store.communicating - store_before_.communicating;
    }
    LeavesOut(const LeavesOut&) = delete;
    LeavesOut& operator=(const LeavesOut&) = delete;

   private:
    PassTimes& times_;
    const StoreTimes store_before_;
    const ScopedSeconds timer_;
  };

  const ParameterStore& store_;
  StoreTimes store_before_;  // at the beginning, and what came in the time that is left out
  const double start_ = monotonic_seconds();
  double reading_ = 0, left_out_ = 0;
};

}  // namespace ps

#endif  // PS_TRAIN_PASS_TIMES_H_
