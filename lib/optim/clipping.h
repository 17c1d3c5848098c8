// Clipping by norm: each parameter's gradient, and then all together, scaled down to at most a norm.  Used by
// the local store and by shards, which know of each other's gradients only the squares.
#ifndef PS_OPTIM_CLIPPING_H_
#define PS_OPTIM_CLIPPING_H_

#include <optional>
#include <span>
#include <vector>

#include "optim/optimizer_plan.h"
#include "optim/parameter.h"

namespace ps {

class Clipping {
 public:
  Clipping(std::span<const ParameterSpec> specs, const OptimizerPlan& plan);

  // Whether norms are needed at all, and that of one parameter.
  bool any() const { return any_; }
  bool needs(size_t parameter) const { return moves_[parameter] && (limits_[parameter] || global_limit_); }

  // The factor of each parameter's gradient: `scale`, and what clipping leaves of it.
  //   squares [parameters]: sums of squares of the gradients, before `scale`
  std::vector<float> scales(std::span<const double> squares, float scale) const;

 private:
  std::vector<bool> moves_;  // by an optimizer
  std::vector<std::optional<double>> limits_;
  std::optional<double> global_limit_;
  bool any_ = false;
};

}  // namespace ps

#endif  // PS_OPTIM_CLIPPING_H_
