// Local SGD among trainers without servers, with a momentum of the steps that they make together (Wang et
// al., "SlowMo: improving communication-efficient distributed SGD with slow momentum", ICLR 2020).
#include "config/spec.h"
#include "optim/options.h"
#include "strategy/averaged_copies.h"
#include "strategy/entries.h"

namespace ps {

namespace {

struct SlowMomentumKeys : AveragingKeys {
  int64_t k_steps = 1;
  double slow_learning_rate = 1;
  double slow_momentum = 0.6;

  static const ObjectSpec<SlowMomentumKeys>& spec();
};

const ObjectSpec<SlowMomentumKeys>& SlowMomentumKeys::spec() {
  static const ObjectSpec<SlowMomentumKeys> spec = [] {
    ObjectSpec<SlowMomentumKeys> s;
    s.field("k_steps", &SlowMomentumKeys::k_steps, kIntervalHelp).must().at_least(1).at_most(kMostLocalSteps);
    s.field("slow_learning_rate", &SlowMomentumKeys::slow_learning_rate,
            "factor of the move that all make together, a")
        .above(0)
        .at_most(100);
    s.field("slow_momentum", &SlowMomentumKeys::slow_momentum, "what stays of the last such move, b, below 1")
        .at_least(0);
    s.include(AveragingKeys::spec());
    s.check([](const SlowMomentumKeys& keys, std::string_view path) {
      optim_internal::check_below_one(keys.slow_momentum, json_path(path, "slow_momentum"));
    });
    return s;
  }();
  return spec;
}

void check_slow_momentum(const Json& object, const Json& optimizer) {
  check_averaged_optimizer(optimizer, "slow_momentum", parse_strategy<SlowMomentumKeys>(object));
}

std::unique_ptr<Strategy> make_slow_momentum(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<SlowMomentumKeys>(object);
  AveragingOptions options = keys.options();
  options.interval.first = keys.k_steps;
  options.outer = {OuterRule::kSlowMomentum, keys.slow_learning_rate, keys.slow_momentum};
  return make_averaged_copies(options, keys.algorithm, setup);
}

}  // namespace

constinit const StrategyEntry kSlowMomentumStrategy = {
    {"slow_momentum",
     "SlowMo: as post_local_sgd, but the mean of the weights is "
     "not taken over: with s the weights where the interval "
     "began, d the mean of the moves from there and r the "
     "mean learning rate of its steps, m = b m - d/r, and all go on with s - a r m.",
     []() -> const AnySpec& { return SlowMomentumKeys::spec(); }},
    check_slow_momentum,
    /*serve=*/nullptr,
    make_slow_momentum};

}  // namespace ps
