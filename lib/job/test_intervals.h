// TestIntervals: the intervals of a test's measures, and their table.  Used by ps-train --job test --intervals.
#ifndef PS_JOB_TEST_INTERVALS_H_
#define PS_JOB_TEST_INTERVALS_H_

#include <string>

#include "config/fwd.h"
#include "math/device.h"
#include "model/network.h"
#include "train/bootstrap.h"
#include "train/trainer.h"

namespace ps {

// One owner thread.  Its arguments outlive it.
class TestIntervals {
 public:
  // From here on it takes what the trainer measures.  Throws kUsage if the job has no evaluator.
  TestIntervals(const Network<float>& network, uint64_t seed, Trainer& trainer);

  // Adds "intervals" to the result of the test, which has "evaluators".
  void put(Json& test, Device& device) const;

 private:
  const Network<float>& network_;
  Bootstrap bootstrap_;
};

// Returns a line for each measure of a test: its name, its value, and the ends of its interval.
std::string intervals_text(const Json& test);

}  // namespace ps

#endif  // PS_JOB_TEST_INTERVALS_H_
