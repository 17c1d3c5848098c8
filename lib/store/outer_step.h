// The step that trainers make together after they have trained by themselves: from the weights with which
// they began, along the mean of their moves.  Used by AveragingStore.
#ifndef PS_STORE_OUTER_STEP_H_
#define PS_STORE_OUTER_STEP_H_

#include <span>

namespace ps {

enum class OuterRule {
  kMean,          // the mean of the weights
  kSlowMomentum,  // Wang et al., "SlowMo", ICLR 2020
  kNesterov,      // Douillard et al., "DiLoCo", 2023
};

struct OuterOptions {
  OuterRule rule = OuterRule::kMean;
  double learning_rate = 1;
  double momentum = 0;
};

// Returns true if the rule keeps a momentum.
bool keeps_momentum(const OuterOptions& options);

// moved <- the new weights, which are x below.
//   start [n]: the weights s with which all trainers began    moved [n]: the mean d of their moves from there
//   momentum [n]: m, empty if the rule keeps none             rate: that of the trainers' optimizer, r
//
//   mean            x = s + d
//   slow momentum   m <- b m - d/r            x = s - a r m
//   Nesterov        m <- b m - d              x = s - a (b m - d)
//
// where a is the outer learning rate and b the outer momentum; -d is the gradient of the outer step.  Without
// a momentum, Nesterov's step is x = s + a d.  If r is 0, slow momentum takes the mean, and only scales m.
void outer_step(const OuterOptions& options, float rate, std::span<const float> start,
                std::span<float> momentum, std::span<float> moved);

}  // namespace ps

#endif  // PS_STORE_OUTER_STEP_H_
