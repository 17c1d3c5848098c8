// Deep Gradient Compression (Lin et al., ICLR 2018) among trainers without servers (DgcExchange).
#include "collective/exchange_communicator.h"
#include "config/spec.h"
#include "device/model_devices.h"
#include "optim/options.h"
#include "store/dgc_exchange.h"
#include "strategy/compressed_among_peers.h"
#include "strategy/entries.h"
#include "strategy/sparse_exchange_key.h"

namespace ps {

namespace {

struct DgcKeys : DgcRule {
  std::string exchange = kAutomatic;
  std::string algorithm = kAutomatic;

  static const ObjectSpec<DgcKeys>& spec();
};

const ObjectSpec<DgcKeys>& DgcKeys::spec() {
  static const ObjectSpec<DgcKeys> spec = [] {
    ObjectSpec<DgcKeys> s;
    s.include(DgcRule::spec());
    s.field("exchange", &DgcKeys::exchange, kSparseExchangeHelp).one_of(sparse_exchange_choices());
    s.field("algorithm", &DgcKeys::algorithm, kAlgorithmHelp).one_of(algorithm_names());
    return s;
  }();
  return spec;
}

// Returns the rule with the numbers of the job's optimizer, which DGC applies in place of that optimizer.
DgcExchangeOptions exchange_options(const DgcKeys& keys, const Json& optimizer) {
  const Json whole = complete_entry(find_entry(optimizer_catalog(), optimizer, "optimizer", "optimizer"),
                                    optimizer, "optimizer");
  const OptimizerOptions common = parse_optimizer_options(optimizer, "optimizer");
  DgcExchangeOptions options{.dgc = {}, .exchange = find_sparse_exchange(keys.exchange)};
  static_cast<DgcRule&>(options.dgc) = keys;
  options.dgc.momentum = whole.at("momentum").get<double>();
  options.dgc.nesterov = whole.at("nesterov").get<bool>();
  options.dgc.l2 = common.l2;
  options.dgc.clip_norm = common.clip_norm;
  return options;
}

// Refuses all optimizers but momentum: DGC sends the moves of momentum, and has their formula built in.  It
// also refuses options that cannot be applied to moves.
void check_dgc(const Json& object, const Json& optimizer) {
  parse_strategy<DgcKeys>(object);
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), optimizer, "optimizer", "optimizer");
  if (entry.name != "momentum" && entry.name != "sparse_momentum") {
    fail(Code::kUsage, "optimizer.type: ", entry.name,
         ", but train.strategy dgc compresses the moves of momentum: name that");
  }
  const OptimizerOptions options = parse_optimizer_options(optimizer, "optimizer");
  const Json whole = complete_entry(entry, optimizer, "optimizer");
  auto refuse = [](const char* key, const char* instead) {
    fail(Code::kUsage, "optimizer.", key, ": with train.strategy dgc, ", instead);
  };
  if (whole.at("l2_mode") != "coupled") refuse("l2_mode", "l2 is in the gradients of trainers: use coupled");
  if (options.l1 > 0) refuse("l1", "weights of which nothing was sent cannot decay: use l2");
  if (options.clip_value) refuse("clip_value", "trainers clip by norm: use clip_norm");
  if (options.clip_global_norm) refuse("clip_global_norm", "trainers clip each parameter: use clip_norm");
  if (options.average) refuse("average", "there are no means of weights");
}

std::unique_ptr<Strategy> make_dgc(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<DgcKeys>(object);
  DgcExchangeOptions options = exchange_options(keys, setup.optimizer);
  if (setup.model_device != nullptr && setup.trains && setup.peers != nullptr) {
    options.device = dgc_device_of(setup.model_device);
    options.on_device = *setup.on_devices;
  }
  return make_among_peers<CompressedAmongPeers<DgcExchange, DgcExchangeOptions>>(setup, options,
                                                                                 keys.algorithm);
}

}  // namespace

constinit const StrategyEntry kDgcStrategy = {
    {"dgc",
     "Deep Gradient Compression: as all_reduce, but a trainer sends only "
     "the largest values of what its gradients "
     "would move, and keeps the rest until it is large enough. The "
     "optimizer must be momentum, whose momentum, "
     "nesterov, l2 and clip_norm hold. A clip_norm bounds, while "
     "compression is on, each trainer's share of a "
     "parameter's gradient to clip_norm over the root of the number of "
     "trainers. Before rampup_begin_step, and while "
     "the sparsity is 0, training is that of all_reduce, bit for bit.",
     []() -> const AnySpec& { return DgcKeys::spec(); }},
    check_dgc,
    /*serve=*/nullptr,
    make_dgc};

}  // namespace ps
