// DiLoCo among trainers without servers (Douillard et al., "DiLoCo: distributed low-communication training of
// language models", 2023): the job's optimizer within an interval, Nesterov's momentum between intervals.
#include "config/spec.h"
#include "optim/options.h"
#include "strategy/averaged_copies.h"
#include "strategy/entries.h"

namespace ps {

namespace {

struct DilocoKeys : AveragingKeys {
  int64_t k_steps = 1;
  double outer_learning_rate = 0.7;
  double outer_momentum = 0.9;

  static const ObjectSpec<DilocoKeys>& spec();
};

const ObjectSpec<DilocoKeys>& DilocoKeys::spec() {
  static const ObjectSpec<DilocoKeys> spec = [] {
    ObjectSpec<DilocoKeys> s;
    s.field("k_steps", &DilocoKeys::k_steps, kIntervalHelp).must().at_least(1).at_most(kMostLocalSteps);
    s.field("outer_learning_rate", &DilocoKeys::outer_learning_rate,
            "learning rate of the step that all make together, a")
        .above(0)
        .at_most(100);
    s.field("outer_momentum", &DilocoKeys::outer_momentum, "what stays of the last such step, b, below 1")
        .at_least(0);
    s.include(AveragingKeys::spec());
    s.check([](const DilocoKeys& keys, std::string_view path) {
      optim_internal::check_below_one(keys.outer_momentum, json_path(path, "outer_momentum"));
    });
    return s;
  }();
  return spec;
}

void check_diloco(const Json& object, const Json& optimizer) {
  check_averaged_optimizer(optimizer, "diloco", parse_strategy<DilocoKeys>(object));
}

std::unique_ptr<Strategy> make_diloco(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<DilocoKeys>(object);
  AveragingOptions options = keys.options();
  options.interval.first = keys.k_steps;
  options.outer = {OuterRule::kNesterov, keys.outer_learning_rate, keys.outer_momentum};
  return make_averaged_copies(options, keys.algorithm, setup);
}

}  // namespace

constinit const StrategyEntry kDilocoStrategy = {
    {"diloco",
     "DiLoCo: trainers train copies of their own with the job's "
     "optimizer for k_steps steps; then all make a step of "
     "Nesterov's momentum from the weights s where they began, along "
     "the mean d of their moves: m = b m - d, and all "
     "go on with s - a (b m - d).",
     []() -> const AnySpec& { return DilocoKeys::spec(); }},
    check_diloco,
    /*serve=*/nullptr,
    make_diloco};

}  // namespace ps
