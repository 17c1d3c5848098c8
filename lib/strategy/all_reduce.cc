// Every trainer holds the parameters, and moves them by the sum of all trainers' gradients, which they add up among
// themselves: AllReduceStore.
#include "collective/exchange_communicator.h"
#include "config/spec.h"
#include "store/all_reduce_store.h"
#include "store/collective_group.h"
#include "store/collective_run.h"
#include "strategy/entries.h"
#include "strategy/in_process.h"
#include "strategy/peers.h"

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

class AllReduce final : public Strategy {
 public:
  AllReduce(const AllReduceOptions& options, const TrainerSetup& setup)
      : here_(setup),
        communicator_(meet_peers(*setup.transport, *setup.peers, options.algorithm)),
        group_(*communicator_),
        run_(setup.peers->rank, [transport = setup.transport] { transport->loop().poll(); }),
        store_(setup.parameters, *here_.local(), *communicator_, run_) {}
  ParameterStore& store() override { return store_; }
  TrainerGroup& group() override { return group_; }
  RunControl& run() override { return run_; }
  LocalStore* local() override { return here_.local(); }
  Json counters() const override {
    return {{"bytes_sent", bytes_sent_to_all(*communicator_) - sent_before_},
            {"whole_bytes", store_.whole_bytes()}};
  }

 private:
  InProcess here_;
  const std::unique_ptr<Communicator> communicator_;
  const uint64_t sent_before_ = bytes_sent_to_all(*communicator_);  // to meet
  CollectiveGroup group_;
  CollectiveRun run_;
  AllReduceStore store_;
};

void check(const Json& object, const Json&) {
  parse_strategy<AllReduceOptions>(object);
}

std::unique_ptr<Strategy> make(const Json& object, const TrainerSetup& setup) {
  const auto options = parse_strategy<AllReduceOptions>(object);
  if (setup.peers == nullptr) return std::make_unique<InProcess>(setup);
  check_all_dense(setup.parameters);
  return std::make_unique<AllReduce>(options, setup);
}

}  // namespace

constinit const StrategyEntry kAllReduce = {
    {"all_reduce",
     "Every trainer holds the parameters, and applies the optimizer to the sum of all trainers' gradients, "
     "which "
     "they add up among themselves, without servers. Several trainers have dense parameters alone.",
     []() -> const AnySpec& { return AllReduceOptions::spec(); }},
    check,
    /*serve=*/nullptr,
    make};

}  // namespace ps
