// GradientScales: the factor of each parameter's gradient in a step; clipping by norm makes it smaller.  Used
// by LocalStore.
//
// The norms for clipping are those of whole gradients over all parameters of the job.  A process that has
// only a part of them asks the others, through one of the two functions here.
#ifndef PS_STORE_GRADIENT_SCALES_H_
#define PS_STORE_GRADIENT_SCALES_H_

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "math/device.h"
#include "math/key_plan.h"
#include "optim/clipping.h"
#include "optim/parameter.h"

namespace ps {

// One owner thread.
class GradientScales {
 public:
  // `specs` and `device` outlive this.
  GradientScales(std::span<const ParameterSpec> specs, const OptimizerPlan& optimizers, Device& device)
      : specs_(specs), clipping_(specs, optimizers), device_(device) {}

  // For a process that has only some parameters of a job: each step calls `clip` for the factors of its
  // parameters' gradients, instead of clipping these alone.
  //   squares [parameters]: sums of squares of the gradients, before `scale`
  using ClipWithOthers = std::function<std::vector<float>(std::span<const double> squares, float scale)>;
  void clip_with_others(ClipWithOthers clip) { clip_with_others_ = std::move(clip); }

  // For a process that has parts of some gradients, while other trainers have the rest.  If gradients are
  // clipped, each step calls `complete`, which turns the squares, as above, into those of whole gradients.
  void complete_squares(std::function<void(std::span<double> squares)> complete) {
    complete_squares_ = std::move(complete);
  }

  // Returns true if the step needs the values of this parameter's gradient, for its norm.
  bool reads_gradient(size_t parameter) const { return clipping_.needs(parameter); }

  // Returns the factors [parameters] of a step whose gradients are in the views.  `scale` is the factor
  // without clipping.
  std::vector<float> of_step(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                             float scale) const;

 private:
  const std::span<const ParameterSpec> specs_;
  const Clipping clipping_;
  Device& device_;
  ClipWithOthers clip_with_others_;                          // null: all parameters are here
  std::function<void(std::span<double>)> complete_squares_;  // null: the gradients are whole
};

}  // namespace ps

#endif  // PS_STORE_GRADIENT_SCALES_H_
