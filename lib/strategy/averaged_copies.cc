#include "strategy/averaged_copies.h"

#include "base/error.h"
#include "collective/exchange_communicator.h"
#include "config/catalog.h"
#include "optim/options.h"
#include "strategy/among_peers.h"

namespace ps {

namespace {

// One owner thread, that of the transport.
class AveragedCopies final : public AmongPeers {
 public:
  AveragedCopies(const AveragingOptions& options, const std::string& algorithm, const TrainerSetup& setup)
      : AmongPeers(setup, algorithm), store_(options, parameters_, *here_.local(), *communicator_, run_) {}
  ParameterStore& store() override { return store_; }
  bool keeps_state() const override { return true; }
  void save_state(std::string& out) const override { store_.save(out); }
  void load_state(ByteReader& in) override { store_.load(in); }
  Json counters() const override { return byte_counters(store_.whole_bytes()); }

 private:
  AveragingStore store_;
};

}  // namespace

AveragingKeys::AveragingKeys() : algorithm(kAutomatic) {}

const ObjectSpec<AveragingKeys>& AveragingKeys::spec() {
  static const ObjectSpec<AveragingKeys> spec = [] {
    ObjectSpec<AveragingKeys> s;
    s.field("begin_step", &AveragingKeys::begin_step,
            "first step that each trainer makes by itself; the steps before it are those of all_reduce")
        .at_least(0);
    s.field("optimizer_state", &AveragingKeys::optimizer_state,
            "state of the trainers' optimizers, such as momentum, when weights are averaged: local, each "
            "keeps its own; averaged like the weights; or reset, to begin anew, for sgd and momentum alone")
        .one_of({"local", "reset", "averaged"});
    s.field("algorithm", &AveragingKeys::algorithm, kAlgorithmHelp).one_of(algorithm_names());
    return s;
  }();
  return spec;
}

AveragingOptions AveragingKeys::options() const {
  AveragingOptions options;
  options.begin_step = begin_step;
  if (optimizer_state == "reset") options.optimizer_state = OptimizerStateRule::kReset;
  if (optimizer_state == "averaged") options.optimizer_state = OptimizerStateRule::kAveraged;
  return options;
}

// Throws kUsage for optimizers whose weights cannot be replaced from outside.  Adam and its like divide by
// moments that begin at zero and correct for that by the number of steps; after a reset that number would
// not fit the moments any more.
void check_averaged_optimizer(const Json& optimizer, std::string_view strategy, const AveragingKeys& keys) {
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), optimizer, "optimizer", "optimizer");
  if (entry.weights_from_state) {
    fail(Code::kUsage, "optimizer.type: ", entry.name,
         " makes weights from its own state, so trainers of train.strategy ", strategy,
         " could not take over averaged ones");
  }
  if (parse_optimizer_options(optimizer, "optimizer").average) {
    fail(Code::kUsage, "optimizer.average: with train.strategy ", strategy,
         " there are no means of weights over steps");
  }
  const bool forgets = entry.name == "sgd" || entry.name == "momentum" || entry.name == "sparse_momentum";
  if (keys.optimizer_state != "reset" || forgets) return;
  fail(Code::kUsage, "train.strategy.optimizer_state: reset, but the moments of optimizer ", entry.name,
       " would be wrong for many steps: use local or averaged, or the optimizer momentum");
}

std::unique_ptr<Strategy> make_averaged_copies(const AveragingOptions& options, const std::string& algorithm,
                                               const TrainerSetup& setup) {
  return make_among_peers<AveragedCopies>(setup, options, algorithm);
}

}  // namespace ps
