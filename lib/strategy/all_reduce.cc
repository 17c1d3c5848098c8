// Every trainer holds the parameters, and moves them by the sum of all trainers' gradients, which the
// trainers add up among themselves (AllReduceStore).
#include "collective/exchange_communicator.h"
#include "config/spec.h"
#include "store/all_reduce_store.h"
#include "strategy/among_peers.h"
#include "strategy/entries.h"
#include "strategy/whole_on_device.h"

namespace ps {

namespace {

struct AllReduceOptions {
  std::string algorithm = kAutomatic;

  static const ObjectSpec<AllReduceOptions>& spec();
};

const ObjectSpec<AllReduceOptions>& AllReduceOptions::spec() {
  static const ObjectSpec<AllReduceOptions> spec = [] {
    ObjectSpec<AllReduceOptions> s;
    s.field("algorithm", &AllReduceOptions::algorithm, kAlgorithmHelp).one_of(algorithm_names());
    return s;
  }();
  return spec;
}

// One owner thread, that of the transport.
class AllReduce final : public AmongPeers {
 public:
  AllReduce(const AllReduceOptions& options, const TrainerSetup& setup)
      : AmongPeers(setup, options.algorithm),
        store_(parameters_, *here_.local(), *communicator_, run_, nullptr, gradient_placement(setup)) {}
  ParameterStore& store() override { return store_; }
  Json counters() const override {
    Json counters = byte_counters(store_.whole_bytes());
    count_there(store_, counters);
    return counters;
  }

 private:
  AllReduceStore store_;
};

void check_all_reduce(const Json& object, const Json&) {
  parse_strategy<AllReduceOptions>(object);
}

std::unique_ptr<Strategy> make_all_reduce(const Json& object, const TrainerSetup& setup) {
  const auto options = parse_strategy<AllReduceOptions>(object);
  return make_among_peers<AllReduce>(setup, options);
}

}  // namespace

constinit const StrategyEntry kAllReduceStrategy = {
    {"all_reduce",
     "Every trainer holds the parameters, and applies the optimizer to the sum of all trainers' gradients, "
     "which they add up among themselves, without servers. Several trainers have dense parameters alone.",
     []() -> const AnySpec& { return AllReduceOptions::spec(); }},
    check_all_reduce,
    /*serve=*/nullptr,
    make_all_reduce,
    /*meets_beside_servers=*/false,
    /*divides_layers=*/true};

}  // namespace ps
