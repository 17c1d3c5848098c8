// Local SGD with servers: each trainer trains a copy of its own, and servers bring the copies together after
// every `period` batches (Stich, ICLR 2019; LocalSgdStore).
#include "config/spec.h"
#include "ps/client/local_sgd_plan.h"
#include "ps/client/local_sgd_store.h"
#include "strategy/entries.h"
#include "strategy/exchange_codec.h"
#include "strategy/in_process.h"
#include "strategy/on_servers.h"
#include "strategy/with_servers.h"

namespace ps {

namespace {

constexpr Consistency kConsistency = {.async = true};  // differences are never too old

struct LocalSgdKeys {
  int64_t period = 1;
  std::string differences = "mean";
  ExchangeCodec codec;

  LocalSgdOptions options() const { return {period, differences == "mean"}; }
  static const ObjectSpec<LocalSgdKeys>& spec();
};

const ObjectSpec<LocalSgdKeys>& LocalSgdKeys::spec() {
  constexpr double kMostBatches = 1e6;
  static const ObjectSpec<LocalSgdKeys> spec = [] {
    ObjectSpec<LocalSgdKeys> s;
    s.field("period", &LocalSgdKeys::period, "batches from one exchange with the servers to the next")
        .must()
        .at_least(1)
        .at_most(kMostBatches);
    s.field("differences", &LocalSgdKeys::differences,
            "what servers add of a trainer's changes: its share of the mean over all trainers, or all, for "
            "their sum")
        .one_of({"mean", "sum"});
    s.field("codec", &LocalSgdKeys::codec, ExchangeCodec::kHelp);
    return s;
  }();
  return spec;
}

// A copy in this process, which servers bring together with the copies of others.  One owner thread.
class LocalSgd final : public WithServers {
 public:
  LocalSgd(const LocalSgdKeys& keys, const TrainerSetup& setup)
      : WithServers(servers_),
        here_(setup, without_policies(setup.parameters), copies_plan(setup.optimizer, setup.optimizers)),
        copies_(setup.parameters, keys.period, *here_.local()),
        servers_(connect_to_servers(setup, kConsistency, keys.codec.row_types(), &copies_)),
        store_(keys.options(), copies_, servers_) {}
  ParameterStore& store() override { return store_; }

 private:
  InProcess here_;
  LocalSgdCopies copies_;
  RemoteStore servers_;
  LocalSgdStore store_;
};

void check_local_sgd(const Json& object, const Json&) {
  parse_strategy<LocalSgdKeys>(object);
}

// Trainers have the optimizers; servers only add, and keep means of weights.
ServerPlan serve_local_sgd(const Json& object, const OptimizerPlan& optimizers) {
  const auto keys = parse_strategy<LocalSgdKeys>(object);
  return {.optimizers = addition_plan(optimizers.cpu, optimizers.average),
          .consistency = kConsistency,
          .tunes = false,
          .push_codec = keys.codec.push.codec};
}

// A process that does not train only reads the servers' weights.
std::unique_ptr<Strategy> make_local_sgd(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<LocalSgdKeys>(object);
  if (setup.servers == nullptr) return std::make_unique<InProcess>(setup);
  if (!setup.trains) return std::make_unique<OnServers>(setup, kConsistency, keys.codec.row_types());
  return std::make_unique<LocalSgd>(keys, setup);
}

}  // namespace

constinit const StrategyEntry kLocalSgdStrategy = {
    {"local_sgd",
     "Each trainer trains a copy of its own, and sends its changes to servers every so many batches, which "
     "add their mean or their sum.",
     []() -> const AnySpec& { return LocalSgdKeys::spec(); }},
    check_local_sgd,
    serve_local_sgd,
    make_local_sgd,
    /*meets_beside_servers=*/false,
    /*divides_layers=*/false,
    /*exchanges_each_batch=*/false,
    /*without_servers=*/"post_local_sgd"};

}  // namespace ps
