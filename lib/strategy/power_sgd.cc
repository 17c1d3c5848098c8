// PowerSGD among trainers without servers (PowerSgdExchange).
#include "collective/exchange_communicator.h"
#include "config/spec.h"
#include "store/power_sgd_exchange.h"
#include "strategy/compressed_among_peers.h"
#include "strategy/entries.h"

namespace ps {

namespace {

struct PowerSgdKeys {
  int64_t rank = 2;
  int64_t begin_step = 0;
  std::string algorithm = kAutomatic;

  static const ObjectSpec<PowerSgdKeys>& spec();
};

const ObjectSpec<PowerSgdKeys>& PowerSgdKeys::spec() {
  static const ObjectSpec<PowerSgdKeys> spec = [] {
    ObjectSpec<PowerSgdKeys> s;
    s.field("rank", &PowerSgdKeys::rank,
            "pairs of vectors that stand for the gradient of a matrix; one of which they would have as many "
            "values is exchanged whole")
        .at_least(1)
        .at_most(256);
    s.field("begin_step", &PowerSgdKeys::begin_step, "first step that compresses").at_least(0);
    s.field("algorithm", &PowerSgdKeys::algorithm, kAlgorithmHelp).one_of(algorithm_names());
    return s;
  }();
  return spec;
}

void check_power_sgd(const Json& object, const Json&) {
  parse_strategy<PowerSgdKeys>(object);
}

std::unique_ptr<Strategy> make_power_sgd(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<PowerSgdKeys>(object);
  PowerSgdOptions options{.rank = keys.rank, .begin_step = keys.begin_step};
  place_compression(setup, options);
  return make_among_peers<CompressedAmongPeers<PowerSgdExchange, PowerSgdOptions>>(setup, options,
                                                                                   keys.algorithm);
}

}  // namespace

constinit const StrategyEntry kPowerSgdStrategy = {
    {"power_sgd",
     "PowerSGD: as all_reduce, but the gradient of a matrix travels "
     "as the product of two narrow ones, found from those "
     "of the step before, and a trainer adds what that leaves of its "
     "gradient to the next one. Gradients of one "
     "dimension are exchanged whole.",
     []() -> const AnySpec& { return PowerSgdKeys::spec(); }},
    check_power_sgd,
    /*serve=*/nullptr,
    make_power_sgd};

}  // namespace ps
