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

  // Runs `body`, whose time does not belong to the pass.
  template <class Body>
  auto leaving_out(Body&& body) {
    ScopedSeconds timer(left_out_);
    return body();
  }

  // Returns seconds, and its parts: reading_seconds, waiting_seconds, communicating_seconds, and
  // computing_seconds, which is the rest: forward, backward, measures, and in one process the tables.
  Json json() const;

  double seconds() const { return monotonic_seconds() - start_ - left_out_; }

 private:
  const ParameterStore& store_;
  const StoreTimes store_before_;
  const double start_ = monotonic_seconds();
  double reading_ = 0, left_out_ = 0;
};

}  // namespace ps

#endif  // PS_TRAIN_PASS_TIMES_H_
