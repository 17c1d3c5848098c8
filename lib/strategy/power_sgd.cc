// PowerSGD among trainers without servers: PowerSgdExchange.
#include "collective/exchange_communicator.h"
#include "config/spec.h"
#include "store/all_reduce_store.h"
#include "store/collective_group.h"
#include "store/collective_run.h"
#include "store/power_sgd_exchange.h"
#include "strategy/entries.h"
#include "strategy/in_process.h"
#include "strategy/peers.h"

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
            "values is "
            "exchanged whole")
        .at_least(1)
        .at_most(256);
    s.field("begin_step", &PowerSgdKeys::begin_step, "first step that compresses").at_least(0);
    s.field("algorithm", &PowerSgdKeys::algorithm, kAlgorithmHelp).one_of(algorithm_names());
    return s;
  }();
  return spec;
}

class PowerSgd final : public Strategy {
 public:
  PowerSgd(const PowerSgdKeys& keys, const TrainerSetup& setup)
      : here_(setup),
        parameters_(setup.parameters),
        communicator_(meet_peers(*setup.transport, *setup.peers, keys.algorithm)),
        group_(*communicator_),
        run_(setup.peers->rank, [transport = setup.transport] { transport->loop().poll(); }),
        exchange_({.rank = keys.rank, .begin_step = keys.begin_step}, parameters_, *here_.local(),
                  *communicator_),
        store_(parameters_, *here_.local(), *communicator_, run_, &exchange_) {}
  ParameterStore& store() override { return store_; }
  TrainerGroup& group() override { return group_; }
  RunControl& run() override { return run_; }
  LocalStore* local() override { return here_.local(); }
  bool keeps_state() const override { return true; }
  void save_state(std::string& out) const override { exchange_.save(out); }
  void load_state(ByteReader& in) override { exchange_.load(in); }
  Json counters() const override {
    return {{"bytes_sent", bytes_sent_to_all(*communicator_) - sent_before_},
            {"whole_bytes", store_.whole_bytes()}};
  }

 private:
  InProcess here_;
  const std::vector<ParameterSpec> parameters_;
  const std::unique_ptr<Communicator> communicator_;
  const uint64_t sent_before_ = bytes_sent_to_all(*communicator_);  // to meet
  CollectiveGroup group_;
  CollectiveRun run_;
  PowerSgdExchange exchange_;
  AllReduceStore store_;
};

void check(const Json& object, const Json&) {
  parse_strategy<PowerSgdKeys>(object);
}

std::unique_ptr<Strategy> make(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<PowerSgdKeys>(object);
  if (setup.peers == nullptr) return std::make_unique<InProcess>(setup);
  check_all_dense(setup.parameters);
  return std::make_unique<PowerSgd>(keys, setup);
}

}  // namespace

constinit const StrategyEntry kPowerSgd = {{"power_sgd",
                                            "PowerSGD: as all_reduce, but the gradient of a matrix travels "
                                            "as the product of two narrow ones, found from those "
                                            "of the step before, and a trainer adds what that leaves of its "
                                            "gradient to the next one. Gradients of one "
                                            "dimension are exchanged whole.",
                                            []() -> const AnySpec& { return PowerSgdKeys::spec(); }},
                                           check,
                                           /*serve=*/nullptr,
                                           make};

}  // namespace ps
