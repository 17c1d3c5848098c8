// Trainers hold the dense parameters, and add up their gradients among themselves; servers hold the sparse
// parameters (HybridStore), whose rows may be trained on devices of the trainers.
#include <algorithm>

#include "base/error.h"
#include "collective/exchange_communicator.h"
#include "config/spec.h"
#include "device/device_store.h"
#include "ps/client/remote_lender.h"
#include "strategy/entries.h"
#include "strategy/exchange_codec.h"
#include "strategy/hybrid_store.h"
#include "strategy/in_process.h"
#include "strategy/on_servers.h"
#include "strategy/run_peers.h"
#include "strategy/whole_on_device.h"
#include "strategy/with_servers.h"

namespace ps {

namespace {

constexpr Consistency kInStep = {};  // trainers keep step in any case, since they exchange gradients

struct HybridOptions {
  std::string algorithm = kAutomatic;
  ExchangeCodec codec;

  static const ObjectSpec<HybridOptions>& spec();
};

const ObjectSpec<HybridOptions>& HybridOptions::spec() {
  static const ObjectSpec<HybridOptions> spec = [] {
    ObjectSpec<HybridOptions> s;
    s.field("algorithm", &HybridOptions::algorithm, kAlgorithmHelp).one_of(algorithm_names());
    s.field("codec", &HybridOptions::codec, ExchangeCodec::kHelp);
    return s;
  }();
  return spec;
}

// The servers' run, except that trainers end together, after the same step.  One owner thread.
class HybridRun final : public RunControl {
 public:
  HybridRun(RunControl& servers, RunControl& peers) : servers_(servers), peers_(peers) {}
  uint64_t id() const override { return servers_.id(); }
  RunPosition position() const override { return servers_.position(); }
  bool finished() const override { return servers_.finished(); }
  int64_t finished_passes() const override { return servers_.finished_passes(); }
  std::vector<std::string> restored_states() override { return servers_.restored_states(); }
  Saver elect_saver(SaveStage stage, const std::string& name) override {
    return servers_.elect_saver(stage, name);
  }
  ServerCheckpoints* checkpoints() override { return servers_.checkpoints(); }
  bool stops(bool asked) override { return peers_.stops(asked); }
  void end_run() override { servers_.end_run(); }
  void leave_run() override { servers_.leave_run(); }

 private:
  RunControl &servers_, &peers_;
};

// The rows that this trainer owns, on its device.  One owner thread.
class RowsOnDevice {
 public:
  // `parameters` and `servers` outlive this.
  RowsOnDevice(const std::vector<ParameterSpec>& parameters, RemoteStore& servers, const TrainerSetup& setup)
      : beside_(1, setup.device.cpu()),
        local_(sparse_parameters(parameters), setup.optimizers, setup.memory_limit, beside_),
        lender_(parameters, setup.optimizers, servers, local_, setup.window),
        store_(lender_, lender_, setup.row_device, *setup.caches) {}

  HybridStore::DeviceRows rows() { return {lender_, store_}; }
  Json counters() const {
    Json counters = store_.counters();
    counters["rows_ahead"] = lender_.rows_ahead();
    return counters;
  }

 private:
  Device beside_;  // for work that is done while the processor computes a batch
  LocalStore local_;
  RemoteLender lender_;
  DeviceStore store_;
};

// Throws kUsage, on all trainers, unless all have a device for rows or none has.  The trainer leaves the others before it
// throws: one that ends by an exception would be taken for dead by those that have not read yet what it has told them.
void check_same_devices(std::unique_ptr<Communicator>& met, bool has_device) {
  Communicator& communicator = *met;
  const std::vector<std::string> all = communicator.gather(has_device ? "d" : "");
  const auto without = std::ranges::find(all, ""), with = std::ranges::find(all, "d");
  if (without == all.end() || with == all.end()) return;
  met.reset();
  fail(Code::kUsage, "trainer ", with - all.begin(), " has rows on a device, and trainer ",
       without - all.begin(), " none: give --device to all trainers of the job, or to none");
}

// The parameters of a trainer, also of a trainer alone, which adds nothing up.  It meets the other trainers
// only if the run is not finished.  One owner thread.
class Hybrid final : public WithServers {
 public:
  Hybrid(const HybridOptions& options, const TrainerSetup& setup)
      : WithServers(servers_),
        parameters_(setup.parameters),
        optimizers_(setup.optimizers),
        local_(dense_parameters(setup.parameters), setup.optimizers, setup.memory_limit, setup.device),
        servers_(connect_to_servers(setup, kInStep, options.codec.row_types())),
        peers_(setup.peers->rank, [] {}),
        run_(servers_.run(), peers_) {
    if (run_.finished()) return;
    communicator_ = meet_in_run(servers_, setup.peer_transport->loop(), setup.peers->join_timeout,
                                [&](Duration timeout) { return meet(setup, options.algorithm, timeout); });
    check_same_devices(communicator_, setup.row_device != nullptr);
    sent_before_ = bytes_sent_to_all(*communicator_);
    HybridStore::Context context{servers_, local_, *communicator_, peers_, gradient_placement(setup)};
    if (setup.row_device != nullptr) {
      rows_ = std::make_unique<RowsOnDevice>(parameters_, servers_, setup);
      context.rows.emplace(rows_->rows());
    }
    store_.emplace(parameters_, optimizers_, context);
  }

  // No trainer trains in a run that is finished.
  ParameterStore& store() override { return store_ ? static_cast<ParameterStore&>(*store_) : servers_; }
  RunControl& run() override { return run_; }
  Communicator* peers() override { return communicator_.get(); }
  void lose_peer(const Error& error) override {
    if (store_) store_->lose_trainer(error);
  }
  Json counters() const override {
    Json counters = WithServers::counters();
    if (!store_) return counters;
    counters["bytes_sent"] =
        counters["bytes_sent"].get<uint64_t>() + bytes_sent_to_all(*communicator_) - sent_before_;
    counters["whole_bytes"] = store_->whole_bytes();
    count_there(store_->dense(), counters);
    if (rows_) counters["device"] = rows_->counters();
    return counters;
  }

 private:
  // Meets the other trainers.  A trainer alone needs no address at which it listens.
  static std::unique_ptr<Communicator> meet(const TrainerSetup& setup, const std::string& algorithm,
                                            Duration timeout) {
    PeerOptions peers = *setup.peers;
    if (peers.size == 1) peers.peers = {Address{"127.0.0.1", 0}};
    peers.join_timeout = timeout;
    return meet_peers(*setup.peer_transport, peers, algorithm).communicator;
  }

  const std::vector<ParameterSpec> parameters_;
  const OptimizerPlan optimizers_;
  LocalStore local_;
  RemoteStore servers_;
  CollectiveRun peers_;
  HybridRun run_;
  std::unique_ptr<RowsOnDevice> rows_;  // null: the servers train the rows
  // Destroyed before rows_, since its farewell to the other trainers handles messages of servers too.
  std::unique_ptr<Communicator> communicator_;
  uint64_t sent_before_ = 0;  // bytes sent while the trainers met
  std::optional<HybridStore> store_;
};

void check_hybrid(const Json& object, const Json&) {
  parse_strategy<HybridOptions>(object);
}

ServerPlan serve_hybrid(const Json& object, const OptimizerPlan& optimizers) {
  const auto options = parse_strategy<HybridOptions>(object);
  return {.optimizers = optimizers,
          .consistency = kInStep,
          .dense_by_trainers = true,
          .push_codec = options.codec.push.codec};
}

// A process that does not train only reads the servers' weights.
std::unique_ptr<Strategy> make_hybrid(const Json& object, const TrainerSetup& setup) {
  const auto options = parse_strategy<HybridOptions>(object);
  if (setup.servers == nullptr) return std::make_unique<InProcess>(setup);
  if (!setup.trains) return std::make_unique<OnServers>(setup, kInStep, options.codec.row_types());
  return std::make_unique<Hybrid>(options, setup);
}

}  // namespace

constinit const StrategyEntry kHybridStrategy = {
    {"hybrid",
     "Servers hold sparse parameters, as with parameter_server; every "
     "trainer holds the dense ones, and applies the "
     "optimizer to the sum of all trainers' gradients, which they add "
     "up among themselves, as with all_reduce.",
     []() -> const AnySpec& { return HybridOptions::spec(); }},
    check_hybrid,
    serve_hybrid,
    make_hybrid,
    /*meets_beside_servers=*/true,
    /*divides_layers=*/false,
    /*exchanges_each_batch=*/false,
    /*without_servers=*/nullptr,
    /*owns_rows=*/true};

}  // namespace ps
