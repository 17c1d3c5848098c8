// Servers hold the parameters.  For each batch, a trainer pulls the rows that the batch uses, and pushes
// their gradients, to which the servers apply the job's optimizer.
#include "config/spec.h"
#include "strategy/entries.h"
#include "strategy/exchange_codec.h"
#include "strategy/in_process.h"
#include "strategy/on_device.h"
#include "strategy/on_servers.h"
#include "strategy/pulling_ahead.h"

namespace ps {

namespace {

struct ParameterServerOptions {
  std::string consistency = "sync";
  int64_t staleness = 0, max_lag = 0;  // steps
  ExchangeCodec codec;

  Consistency steps() const { return {consistency == "async", staleness, max_lag}; }
  void check(std::string_view path) const;
  static const ObjectSpec<ParameterServerOptions>& spec();
};

// Each number may be set only for its kind of consistency.
void ParameterServerOptions::check(std::string_view path) const {
  const bool stale = consistency == "staleness";
  if (stale && staleness == 0) {
    fail(Code::kUsage, json_path(path, "staleness"), ": missing (how many steps weights may be behind)");
  }
  if (!stale && staleness > 0) {
    fail(Code::kUsage, json_path(path, "staleness"), ": ", staleness, ", but ",
         json_path(path, "consistency"), " is ", quote(consistency), ", not 'staleness'");
  }
  if (consistency != "async" && max_lag > 0) {
    fail(Code::kUsage, json_path(path, "max_lag"), ": ", max_lag, ", but ", json_path(path, "consistency"),
         " is ", quote(consistency), ", not 'async'");
  }
}

const ObjectSpec<ParameterServerOptions>& ParameterServerOptions::spec() {
  constexpr double kMostStaleness = 1000;
  static const ObjectSpec<ParameterServerOptions> spec = [] {
    ObjectSpec<ParameterServerOptions> s;
    s.field("consistency", &ParameterServerOptions::consistency,
            "sync: every step sums the gradients of all trainers; staleness: the same, but trainers may use "
            "weights that are some steps behind; async: each trainer's gradients are a step of their own and "
            "nobody waits")
        .one_of({"sync", "staleness", "async"});
    s.field("staleness", &ParameterServerOptions::staleness,
            "steps by which weights may be behind, with consistency staleness, which needs it")
        .at_least(0)
        .at_most(kMostStaleness);
    s.field("max_lag", &ParameterServerOptions::max_lag,
            "with consistency async: gradients for weights older than so many steps are dropped and counted, "
            "0: none is")
        .at_least(0);
    s.field("codec", &ParameterServerOptions::codec, ExchangeCodec::kHelp);
    s.check([](const ParameterServerOptions& options, std::string_view path) { options.check(path); });
    return s;
  }();
  return spec;
}

void check_parameter_server(const Json& object, const Json&) {
  parse_strategy<ParameterServerOptions>(object);
}

ServerPlan serve_parameter_server(const Json& object, const OptimizerPlan& optimizers) {
  const auto options = parse_strategy<ParameterServerOptions>(object);
  return {.optimizers = optimizers, .consistency = options.steps(), .push_codec = options.codec.push.codec};
}

// Chooses by the process: in the process itself without servers; with a device for rows; with copies of
// rows that are pulled ahead; else plainly on servers.  A reader that pulls ahead is plain too, since its
// copies are those of a compute trainer.
std::unique_ptr<Strategy> make_parameter_server(const Json& object, const TrainerSetup& setup) {
  const auto options = parse_strategy<ParameterServerOptions>(object);
  if (setup.servers == nullptr) return std::make_unique<InProcess>(setup);
  if (setup.row_device != nullptr) return std::make_unique<OnDevice>(setup);
  const bool reads = setup.servers->dense_elsewhere;
  if (setup.trains && setup.pull_ahead > 0 && !reads) return std::make_unique<PullingAhead>(setup);
  Consistency steps = options.steps();
  if (setup.trains) steps.ahead = ahead_consistency(setup.pull_ahead).ahead;
  return std::make_unique<OnServers>(setup, steps, options.codec.row_types());
}

}  // namespace

constinit const StrategyEntry kParameterServerStrategy = {
    {"parameter_server",
     "Servers hold the parameters: trainers pull the rows that a batch uses, and push their gradients, to "
     "which servers apply the optimizer. Without servers, one process does both.",
     []() -> const AnySpec& { return ParameterServerOptions::spec(); }},
    check_parameter_server,
    serve_parameter_server,
    make_parameter_server,
    /*meets_beside_servers=*/false,
    /*divides_layers=*/false,
    /*exchanges_each_batch=*/true};

}  // namespace ps
