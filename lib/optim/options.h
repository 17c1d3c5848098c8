// The keys that the job file's objects of all optimizers share.  The training loop takes learning rate,
// schedule and clipping by norm from here.
#ifndef PS_OPTIM_OPTIONS_H_
#define PS_OPTIM_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/catalog.h"

namespace ps {

// Model averaging: test, predict and save with the mean of the weights over the steps from begin_step on.
struct AverageOptions {
  int64_t begin_step = 0;

  static const ObjectSpec<AverageOptions>& spec();
};

// The rate grows with the number of examples of a step: linearly, as in Goyal et al., "Accurate, large
// minibatch SGD", 2017, or with its square root, as in Krizhevsky, "One weird trick for parallelizing
// convolutional neural networks", 2014.
struct RateScale {
  std::string rule = "linear";  // linear | sqrt
  int64_t batch = 0;            // number of examples of a step for which learning_rate is right

  // Returns the factor of the rate of a step with so many examples.
  double factor(int64_t examples) const;

  static const ObjectSpec<RateScale>& spec();
};

// The place at which an optimizer adds l2 w: L2 regularization, coupled with the gradient, or decoupled
// weight decay beside the step.  Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
// It is the job file's "l2_mode".
enum class L2Mode { kDecoupled, kCoupled };
L2Mode find_l2_mode(const std::string& name);

struct OptimizerOptions {
  double learning_rate = 0.01;
  double l1 = 0, l2 = 0;
  std::optional<double> clip_value;
  std::optional<double> clip_norm;         // applied by the training loop, through update's scale
  std::optional<double> clip_global_norm;  // the same
  Json schedule;                           // null: constant; see schedule.h
  std::optional<RateScale> scale_rate;
  std::optional<AverageOptions> average;
};

// Adds the fields above to the spec of an optimizer's own options, which derive from OptimizerOptions, and
// calls their check(path), if any, after parsing.
template <class Options>
void add_optimizer_fields(ObjectSpec<Options>& spec);

// Parses the keys that all optimizers share from `object`, which has a "type"; defaults are those of that
// type.  Throws kUsage.
OptimizerOptions parse_optimizer_options(const Json& object, std::string_view path);

namespace optim_internal {
Json schedule_schema();
void check_schedule(const Json& schedule, std::string_view path);
void check_below_one(double value, std::string_view path);

inline constexpr char kAdaptiveL2Help[] =
    "decoupled: l2 is weight decay beside the step; coupled: L2 regularization, l2 w is added to the clipped "
    "gradient, and the step adapts to the sum. Coupled l2 is lazy: with sparse_update a row gets it only at "
    "steps "
    "that touch it";
}  // namespace optim_internal

// The options of optimizers that divide a gradient by a measure of earlier gradients.
struct AdaptiveOptions : OptimizerOptions {
  std::string l2_mode = "decoupled";

  template <class Options>
  static void add_l2_mode(ObjectSpec<Options>& spec) {
    spec.field("l2_mode", &Options::l2_mode, optim_internal::kAdaptiveL2Help)
        .one_of({"decoupled", "coupled"});
  }
};

// The largest rate.  Weights and rates are floats: a larger rate would become infinite.
inline constexpr double kLargestRate = 1e38;

template <class Options>
void add_optimizer_fields(ObjectSpec<Options>& spec) {
  spec.field("learning_rate", &Options::learning_rate,
             "step size, before schedule and the parameter's own factor")
      .at_least(0)
      .at_most(kLargestRate);
  spec.field("l1", &Options::l1, "L1 weight decay: each step moves weights towards zero by rate x l1")
      .at_least(0);
  spec.field("l2", &Options::l2, "L2 weight decay: each step scales weights by 1 - rate x l2").at_least(0);
  spec.field("clip_value", &Options::clip_value,
             "clip each element of the gradient to [-clip_value, clip_value]")
      .above(0);
  spec.field("clip_norm", &Options::clip_norm, "scale each parameter's gradient down to this L2 norm")
      .above(0);
  spec.field("clip_global_norm", &Options::clip_global_norm,
             "scale the gradient of all parameters together down to this L2 norm")
      .above(0);
  spec.field("schedule", &Options::schedule, "learning-rate schedule; absent: constant").type =
      optim_internal::schedule_schema;
  spec.field(
      "scale_rate", &Options::scale_rate,
      "multiply the scheduled rate by what a step of all trainers has of the examples of a given batch");
  spec.field("average", &Options::average, "test, predict and save with the mean of the weights over steps");
  spec.check([](const Options& options, std::string_view path) {
    optim_internal::check_schedule(options.schedule, json_path(path, "schedule"));
    if constexpr (requires { options.check(path); }) options.check(path);
  });
}

}  // namespace ps

#endif  // PS_OPTIM_OPTIONS_H_
