// Local SGD among trainers without servers (Stich, ICLR 2019; post-local: Lin et al., "Don't use large
// mini-batches, use local SGD", ICLR 2020).  The strategy local_sgd is the one with servers, in which no
// trainer waits for another.
#include "config/spec.h"
#include "strategy/averaged_copies.h"
#include "strategy/entries.h"

namespace ps {

namespace {

struct PostLocalSgdKeys : AveragingKeys {
  int64_t k_steps = 1;

  static const ObjectSpec<PostLocalSgdKeys>& spec();
};

const ObjectSpec<PostLocalSgdKeys>& PostLocalSgdKeys::spec() {
  static const ObjectSpec<PostLocalSgdKeys> spec = [] {
    ObjectSpec<PostLocalSgdKeys> s;
    s.field("k_steps", &PostLocalSgdKeys::k_steps, kIntervalHelp).must().at_least(1).at_most(kMostLocalSteps);
    s.include(AveragingKeys::spec());
    return s;
  }();
  return spec;
}

void check_post_local_sgd(const Json& object, const Json& optimizer) {
  check_averaged_optimizer(optimizer, "post_local_sgd", parse_strategy<PostLocalSgdKeys>(object));
}

std::unique_ptr<Strategy> make_post_local_sgd(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<PostLocalSgdKeys>(object);
  AveragingOptions options = keys.options();
  options.interval.first = keys.k_steps;
  return make_averaged_copies(options, keys.algorithm, setup);
}

}  // namespace

constinit const StrategyEntry kPostLocalSgdStrategy = {
    {"post_local_sgd",
     "Local SGD without servers: from begin_step on, each trainer trains a copy of its own, and every "
     "k_steps steps all go on with the mean of their weights, each with the weight of the examples that it "
     "has trained on.",
     []() -> const AnySpec& { return PostLocalSgdKeys::spec(); }},
    check_post_local_sgd,
    /*serve=*/nullptr,
    make_post_local_sgd};

}  // namespace ps
