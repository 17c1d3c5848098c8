#include "optim/options.h"

#include <cmath>

#include "config/catalog.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace ps {

const ObjectSpec<AverageOptions>& AverageOptions::spec() {
  static const ObjectSpec<AverageOptions> spec = [] {
    ObjectSpec<AverageOptions> s;
    s.field("begin_step", &AverageOptions::begin_step, "first step whose result counts").at_least(0);
    return s;
  }();
  return spec;
}

const ObjectSpec<RateScale>& RateScale::spec() {
  static const ObjectSpec<RateScale> spec = [] {
    ObjectSpec<RateScale> s;
    s.field("rule", &RateScale::rule,
            "the factor is the examples of a step, divided by batch, or the square root of that")
        .one_of({"linear", "sqrt"})
        .must();
    s.field("batch", &RateScale::batch, "examples of a step for which learning_rate is meant")
        .at_least(1)
        .must();
    return s;
  }();
  return spec;
}

double RateScale::factor(int64_t examples) const {
  const double ratio = static_cast<double>(examples) / static_cast<double>(batch);
  return rule == "sqrt" ? std::sqrt(ratio) : ratio;
}

const ObjectSpec<ParameterTuning>& ParameterTuning::spec() {
  static const ObjectSpec<ParameterTuning> spec = [] {
    ObjectSpec<ParameterTuning> s;
    s.field("learning_rate", &ParameterTuning::learning_rate, "multiplies the global rate; 0 freezes")
        .at_least(0)
        .at_most(kLargestRate);
    s.field("l1", &ParameterTuning::l1, "L1 weight decay instead of the optimizer's").at_least(0);
    s.field("l2", &ParameterTuning::l2, "L2 weight decay instead of the optimizer's").at_least(0);
    s.field("momentum", &ParameterTuning::momentum, "momentum instead of the optimizer's, below 1")
        .at_least(0);
    s.field("clip_value", &ParameterTuning::clip_value, "clip_value instead of the optimizer's").above(0);
    s.field("clip_norm", &ParameterTuning::clip_norm, "clip_norm instead of the optimizer's").above(0);
    s.check([](const ParameterTuning& tuning, std::string_view path) {
      optim_internal::check_below_one(tuning.momentum.value_or(0), json_path(path, "momentum"));
    });
    return s;
  }();
  return spec;
}

L2Mode find_l2_mode(const std::string& name) {
  return name == "coupled" ? L2Mode::kCoupled : L2Mode::kDecoupled;
}

// Fills in the defaults of this optimizer first, since some differ from one to the next, such as
// learning_rate; then reads of all keys the ones that every optimizer has.
OptimizerOptions parse_optimizer_options(const Json& object, std::string_view path) {
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), object, path, "optimizer");
  Json all = complete_entry(entry, object, path), shared = Json::object();
  OptimizerOptions out;
  static const ObjectSpec<OptimizerOptions> spec = [] {
    ObjectSpec<OptimizerOptions> s;
    add_optimizer_fields(s);
    return s;
  }();
  for (const auto& field : spec.fields()) {
    if (all.contains(field->name)) shared[field->name] = all[field->name];
  }
  return spec.parse(shared, path);
}

namespace optim_internal {

Json schedule_schema() {
  return catalog_schema(schedule_catalog());
}

void check_schedule(const Json& schedule, std::string_view path) {
  if (!schedule.is_null()) make_schedule(schedule, 1, path);
}

void check_below_one(double value, std::string_view path) {
  if (value >= 1) fail(Code::kUsage, path, ": ", value, " is too large, expected less than 1");
}

}  // namespace optim_internal

}  // namespace ps
