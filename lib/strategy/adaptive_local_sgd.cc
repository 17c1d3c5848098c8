// Local SGD among trainers without servers, with an interval that follows the cost (LocalInterval).
#include "config/spec.h"
#include "strategy/averaged_copies.h"
#include "strategy/entries.h"

namespace ps {

namespace {

struct AdaptiveLocalSgdKeys : AveragingKeys {
  std::string rule = "adacomm";
  int64_t init_k_steps = 8;
  int64_t adapt_steps = 100;
  double floor_cost = 0;

  IntervalOptions interval() const;
  static const ObjectSpec<AdaptiveLocalSgdKeys>& spec();
};

const ObjectSpec<AdaptiveLocalSgdKeys>& AdaptiveLocalSgdKeys::spec() {
  static const ObjectSpec<AdaptiveLocalSgdKeys> spec = [] {
    ObjectSpec<AdaptiveLocalSgdKeys> s;
    s.field("rule", &AdaptiveLocalSgdKeys::rule,
            "interval k from the mean cost F of the last one, the learning rate r, the cost F0 of the first "
            "interval and the rate r0 after it. adacomm: every adapt_steps steps ceil(sqrt(r0/r F/F0) "
            "init_k_steps), or k/2 if that is not less than k; fleetx_doc: at each averaging floor(sqrt(r0/r "
            "(F - floor_cost)/(F0 - floor_cost)) init_k_steps), unless that is more than k + 20; paddle: at "
            "each averaging ceil(sqrt(r0/r F/F0 init_k_steps)). All are at least 1 and at most 16")
        .one_of({"adacomm", "fleetx_doc", "paddle"});
    s.field("init_k_steps", &AdaptiveLocalSgdKeys::init_k_steps, "steps of the first interval")
        .at_least(1)
        .at_most(static_cast<double>(kMostAdaptiveSteps));
    s.field("adapt_steps", &AdaptiveLocalSgdKeys::adapt_steps,
            "adacomm: steps from one change of the interval to the next, at least")
        .at_least(1);
    s.field("floor_cost", &AdaptiveLocalSgdKeys::floor_cost,
            "fleetx_doc: the cost that training is not expected to go below")
        .at_least(0);
    s.include(AveragingKeys::spec());
    return s;
  }();
  return spec;
}

IntervalOptions AdaptiveLocalSgdKeys::interval() const {
  IntervalOptions options{.rule = IntervalRule::kAdacomm,
                          .first = init_k_steps,
                          .adapt_steps = adapt_steps,
                          .floor_cost = floor_cost};
  if (rule == "fleetx_doc") options.rule = IntervalRule::kFleetxDoc;
  if (rule == "paddle") options.rule = IntervalRule::kPaddle;
  return options;
}

void check_adaptive_local_sgd(const Json& object, const Json& optimizer) {
  check_averaged_optimizer(optimizer, "adaptive_local_sgd", parse_strategy<AdaptiveLocalSgdKeys>(object));
}

std::unique_ptr<Strategy> make_adaptive_local_sgd(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<AdaptiveLocalSgdKeys>(object);
  AveragingOptions options = keys.options();
  options.interval = keys.interval();
  return make_averaged_copies(options, keys.algorithm, setup);
}

}  // namespace

constinit const StrategyEntry kAdaptiveLocalSgdStrategy = {
    {"adaptive_local_sgd",
     "As post_local_sgd, with an interval that follows the cost: long while training goes fast, short when "
     "it nears its end, or as the rule says.",
     []() -> const AnySpec& { return AdaptiveLocalSgdKeys::spec(); }},
    check_adaptive_local_sgd,
    /*serve=*/nullptr,
    make_adaptive_local_sgd};

}  // namespace ps
