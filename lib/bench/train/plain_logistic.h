// PlainLogistic: logistic regression with AdaGrad as a plain program would do it, with arrays as long as
// there are ids, and one loop.  The loss of pskit's job must be its loss, and its time is that of a simple
// loop.  Used by the suites `train` and `process`.
#ifndef PS_BENCH_TRAIN_PLAIN_LOGISTIC_H_
#define PS_BENCH_TRAIN_PLAIN_LOGISTIC_H_

#include <cstdint>
#include <vector>

#include "data/batch.h"

namespace ps {

// Logistic regression on one sparse slot without values, with labels 0 and 1 and a bias.  One owner thread.
class PlainLogistic {
 public:
  PlainLogistic(int64_t dim, float rate, float epsilon)
      : rate_(rate), epsilon_(epsilon), weights_(static_cast<size_t>(dim) + 1) {}

  // Makes one step with the gradient summed over the batch; returns the sum of the losses before it.
  double step(const Batch& batch);

 private:
  struct Weight {
    float value = 0, square = 0, gradient = 0;
    bool touched = false;
  };

  void add_gradient(size_t index, float gradient);

  const float rate_, epsilon_;
  std::vector<Weight> weights_;  // the last one is the bias
  std::vector<size_t> touched_;  // ids of this batch
};

}  // namespace ps

#endif  // PS_BENCH_TRAIN_PLAIN_LOGISTIC_H_
