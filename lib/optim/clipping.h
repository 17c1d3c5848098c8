// Clipping: clipping by norm.  It scales each parameter's gradient down to at most a norm, and then all
// gradients together.  Used by the local store and by shards, which exchange only sums of squares of their
// gradients.
#ifndef PS_OPTIM_CLIPPING_H_
#define PS_OPTIM_CLIPPING_H_

#include <optional>
#include <span>
#include <vector>

#include "optim/optimizer_plan.h"
#include "optim/parameter.h"

namespace ps {

// Constant after construction; any thread may use it.
class Clipping {
 public:
  Clipping(std::span<const ParameterSpec> specs, const OptimizerPlan& plan);

  // any() returns true if some gradient is clipped by norm. needs() returns true if the norm of one
  // parameter's gradient is needed.
  bool any() const { return any_; }
  bool needs(size_t parameter) const { return moves_[parameter] && (limits_[parameter] || global_limit_); }

  // Returns the factor of each parameter's gradient: `scale` times the factor of clipping.
  //   squares [parameters]: sums of squares of the gradients, before `scale`
  std::vector<float> scales(std::span<const double> squares, float scale) const;

 private:
  std::vector<bool> moves_;                    // an optimizer updates the parameter
  std::vector<std::optional<double>> limits_;  // by parameter: the largest norm; nothing: no limit
  std::optional<double> global_limit_;  // the largest norm of all gradients together; nothing: no limit
  bool any_ = false;
};

}  // namespace ps

#endif  // PS_OPTIM_CLIPPING_H_
