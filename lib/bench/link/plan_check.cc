#include "bench/link/plan_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/statistics.h"
#include "bench/link/link_model.h"
#include "bench/link/link_servers.h"
#include "bench/link/rank_run.h"
#include "bench/link/server_step.h"
#include "bench/link/steps.h"
#include "bench/plan/columns.h"
#include "codec/dgc_options.h"
#include "codec/selection_sample.h"
#include "collective/algorithm.h"
#include "collective/link_measure.h"

namespace ps {

namespace {

constexpr const char* kServer = "server";
constexpr const char* kDgc = "dgc";

// Returns true if DGC looks at a sample of the tensor to select from it, and not at all of its values, which
// takes much longer for a value.
bool is_sampled(const TensorShape& tensor) {
  const DgcOptions options;
  const uint64_t values = static_cast<uint64_t>(tensor.elements());
  return selection_sample(values, dgc_selected(options, options.rampup_begin_step, values)).num_lines > 0;
}

// The rates of DGC's codec while all ranks are busy.
struct CodecRates {
  double encode_sampled = 0, encode_whole = 0;  // bytes a second of dense gradients, by is_sampled
  double decode = 0;                            // bytes a second of packed gradients
};

// Seconds of a probe of the codec, by the slowest rank.
struct CodecProbe {
  double pack = 0, apply = 0;
};

// Packs and adds the model on all ranks at once, each time after a wait like that of the steps: medians of runs.
// The first step is not timed, since it allocates.
CodecProbe probe_codec(ExchangeCommunicator& communicator, const ModelShape& model) {
  constexpr int kRuns = 11;
  constexpr double kWait = 0.05;
  DgcExchangeStep step(communicator, model, kWait, DgcExchangeStep::Packing::kAfterwards);
  std::vector<double> pack, apply;
  step.run();
  for (int i = 0; i < kRuns; ++i) {
    communicator.barrier();
    step.run();
    pack.push_back(step.terms().pack);
    apply.push_back(step.terms().apply);
  }
  return {median(largest_of_all(communicator, pack)), median(largest_of_all(communicator, apply))};
}

double compressed_bytes(const ModelShape& model, bool sampled) {
  double bytes = 0;
  for (const TensorShape& tensor : model.tensors) {
    if (!tensor.one_dimensional() && is_sampled(tensor) == sampled)
      bytes += sizeof(float) * static_cast<double>(tensor.elements());
  }
  return bytes;
}

// Returns equal tensors of size x size values with about as many bytes in all, since the rates of a model that
// the caches hold are others than those of a large one.
ModelShape equal_tensors(int64_t size, double bytes) {
  constexpr double kMost = 40e6;
  const double count = std::min(bytes, kMost) / static_cast<double>(sizeof(float) * size * size);
  return {.name = "probe",
          .tensors = {std::max<size_t>(1, static_cast<size_t>(std::lround(count))), {size, size}}};
}

// Measures the rates on tensors that the model does not have.  The probes come before the strategies, so that the
// plan predicts what it has not seen.
CodecRates probe_rates(ExchangeCommunicator& communicator, const ModelShape& model) {
  const ModelShape sampled = equal_tensors(1500, compressed_bytes(model, true));
  const ModelShape whole = equal_tensors(450, compressed_bytes(model, false));
  const CodecProbe of_sampled = probe_codec(communicator, sampled),
                   of_whole = probe_codec(communicator, whole);
  const double packed = link_payload(sampled).packed_bytes + link_payload(whole).packed_bytes;
  return {sampled.bytes() / of_sampled.pack, whole.bytes() / of_whole.pack,
          communicator.size() * packed / (of_sampled.apply + of_whole.apply)};
}

// Sets the rates of `cluster` for the tensors of this model.  Tensors of one dimension are not packed, but count in the
// bytes of the cost model.
void set_rates(const CodecRates& rates, const ModelShape& model, ClusterParameters& cluster) {
  ModelShape compressed = model;
  std::erase_if(compressed.tensors, [](const TensorShape& tensor) { return tensor.one_dimensional(); });
  if (compressed.tensors.empty()) return;
  cluster.encode_rate = model.bytes() / (compressed_bytes(model, true) / rates.encode_sampled +
                                         compressed_bytes(model, false) / rates.encode_whole);
  cluster.decode_rate =
      rates.decode * link_payload(model).packed_bytes / link_payload(compressed).packed_bytes;
}

// Counts the seconds of the codec in each run.  One owner thread, which is the rank's.
class TimedDgc final : public LinkStep {
 public:
  TimedDgc(ExchangeCommunicator& communicator, const LinkRequest& link)
      : step_(communicator, link.model, link.compute_seconds, DgcExchangeStep::Packing::kAfterwards) {}
  void run() override {
    step_.run();
    seconds_.push_back(step_.terms().pack + step_.terms().apply);
  }
  uint64_t count_wrong() override { return step_.count_wrong(); }
  double expected_bytes() const override { return step_.expected_bytes(); }

  // Returns the seconds of the last `count` runs.
  std::vector<double> last(size_t count) const {
    return {seconds_.end() - static_cast<std::ptrdiff_t>(count), seconds_.end()};
  }

 private:
  DgcExchangeStep step_;
  std::vector<double> seconds_;
};

ExchangeCost divided(const ExchangeCost& cost, double by) {
  return {cost.latency / by, cost.overhead / by, cost.transfer / by, cost.sum / by, cost.codec / by};
}

// The runs of a strategy, by one rank, or by the slowest rank in each run.
struct CheckedRun {
  StepRun run;
  std::vector<double> codec_seconds = {};  // seconds of DGC's codec, by run; empty for other strategies
};

// Combines the runs of all ranks; all ranks call it and get the same result.  Runs travel as JSON.
CheckedRun slowest_run(ExchangeCommunicator& communicator, const CheckedRun& own) {
  const Json json = {{"seconds", own.run.seconds}, {"wrong", own.run.wrong}, {"codec", own.codec_seconds}};
  std::vector<StepRun> runs, codecs;
  for (const std::string& text : communicator.gather(json.dump())) {
    const Json each = parse_json(text, "a rank's run");
    runs.push_back({.seconds = each.at("seconds"), .wrong = each.at("wrong")});
    codecs.push_back({.seconds = each.at("codec")});
  }
  return {slowest(runs), slowest(codecs).seconds};
}

// A configuration: the links, the servers behind some of them, and the steps that ranks run.  Constant
// after construction; one owner thread calls run().
//
// Each rank runs the probes, then the strategies in the order of the request, so that all ranks are always
// in the same collective.  Servers are made once for each number of servers, behind the links after those
// of the ranks.
class PlanCheck {
 public:
  PlanCheck(const PlanCheckRequest& request, Log& log)
      : request_(request),
        link_(request.link),
        links_(make_rank_links(link_.link, link_.ranks + most_servers(), link_.bits_per_second, log)) {
    for (const CheckedStrategy& strategy : request.strategies) {
      if (strategy.servers == 0) continue;
      servers_.try_emplace(strategy.servers,
                           std::make_unique<LinkServers>(*links_, link_.ranks, strategy.servers, link_.model,
                                                         link_patience(link_)));
    }
  }

  void run(const std::function<void(const Json&)>& done) {
    run_ranks(*links_, link_.ranks, link_patience(link_),
              [&](ExchangeCommunicator& communicator, Transport& network) {
                const LinkProbe probe = probe_links(communicator, link_.bits_per_second);
                const CodecRates rates = probe_rates(communicator, link_.model);
                for (const CheckedStrategy& strategy : request_.strategies) {
                  const CheckedRun slowest =
                      slowest_run(communicator, run_strategy(communicator, network, strategy));
                  if (communicator.rank() == 0) done(row(strategy, slowest, probe, rates));
                }
              });
  }

 private:
  int most_servers() const {
    int most = 0;
    for (const CheckedStrategy& strategy : request_.strategies) most = std::max(most, strategy.servers);
    return most;
  }

  // Measures one strategy on this rank.  DGC packs after the compute, as the cost model supposes.  A period of
  // local SGD counts as so many steps.
  CheckedRun run_strategy(ExchangeCommunicator& communicator, Transport& network,
                          const CheckedStrategy& strategy) const {
    if (strategy.name == kDgc) {
      TimedDgc step(communicator, link_);
      CheckedRun done{timed(communicator, step)};
      done.codec_seconds = step.last(done.run.seconds.size());
      return done;
    }
    const std::unique_ptr<LinkStep> step = make_step(communicator, network, strategy);
    CheckedRun done{timed(communicator, *step)};
    for (double& seconds : done.run.seconds) seconds /= strategy.period;
    return done;
  }

  std::unique_ptr<LinkStep> make_step(ExchangeCommunicator& communicator, Transport& network,
                                      const CheckedStrategy& strategy) const {
    if (strategy.servers > 0)
      return std::make_unique<ServerStep>(communicator, network, *servers_.at(strategy.servers), link_.model,
                                          link_.compute_seconds);
    if (strategy.period > 1)
      return std::make_unique<LocalSgdPeriod>(communicator, link_.model, link_.compute_seconds,
                                              strategy.period);
    return std::make_unique<DenseStep>(communicator, link_.model, link_.compute_seconds,
                                       all_reduce_algorithm(strategy.name), DenseStep::Exchange::kAfterwards);
  }

  StepRun timed(ExchangeCommunicator& communicator, LinkStep& step) const {
    return run_step(communicator, step, link_.most_runs, link_.budget_seconds);
  }

  // Returns the cost of an exchange by the model, from the probed speeds alone; local SGD pays an
  // all-reduce once in `period` steps.
  ExchangeCost modelled(const CheckedStrategy& strategy, const LinkProbe& probe,
                        const CodecRates& rates) const {
    ClusterParameters cluster = link_cluster(link_.ranks, probe);
    set_rates(rates, link_.model, cluster);
    cluster.servers = strategy.servers;
    const ExchangeKind kind = strategy.period > 1 ? ExchangeKind::kDirect : exchange_named(strategy.name);
    return divided(exchange_cost(kind, cluster, link_payload(link_.model)), strategy.period);
  }

  // Makes the row of a strategy, measured and modelled.  The exchange is all of a step except the compute,
  // which is a wait of known length.
  Json row(const CheckedStrategy& strategy, const CheckedRun& measured, const LinkProbe& probe,
           const CodecRates& rates) const {
    if (measured.run.wrong != 0)
      fail(Code::kInternal, strategy.name, ": ", measured.run.wrong, " values of the sum are wrong");
    const ExchangeCost cost = modelled(strategy, probe, rates);
    const double seconds = median(measured.run.seconds), exchange = seconds - link_.compute_seconds;
    Json row = {{"suite", "plan-check"},
                {"model", link_.model.name},
                {"ranks", link_.ranks},
                {"link", links_->name()},
                {"bandwidth", link_.bits_per_second},
                {"bandwidth_text", decimal_rate_text(link_.bits_per_second)},
                {"measured_bandwidth", probe.bits_per_second},
                {"dense_bytes", link_.model.bytes()},
                {"compute_seconds", link_.compute_seconds},
                {"strategy", strategy.name},
                {"servers", strategy.servers},
                {"runs", measured.run.seconds.size()},
                {"step_seconds", seconds},
                {"modelled_step_seconds", link_.compute_seconds + cost.total()},
                {"exchange_seconds", exchange},
                {"modelled_exchange_seconds", cost.total()}};
    add_terms(row, strategy, measured, cost);
    return row;
  }

  // Adds the terms of the model, and the seconds of the codec, the only term that ranks can time by itself.
  static void add_terms(Json& row, const CheckedStrategy& strategy, const CheckedRun& measured,
                        const ExchangeCost& cost) {
    row["modelled_latency_seconds"] = cost.latency + cost.overhead;
    row["modelled_transfer_seconds"] = cost.transfer;
    row["modelled_sum_seconds"] = cost.sum;
    row["modelled_codec_seconds"] = cost.codec;
    row["codec_seconds"] = nullptr;
    if (strategy.name == kDgc) row["codec_seconds"] = median(measured.codec_seconds);
  }

  const PlanCheckRequest& request_;
  const LinkRequest& link_;
  const std::unique_ptr<RankLinks> links_;
  std::map<int, std::unique_ptr<LinkServers>> servers_;  // keys are numbers of servers
};

}  // namespace

std::vector<CheckedStrategy> checked_strategies(const std::vector<int>& servers,
                                                const std::vector<int>& periods) {
  std::vector<CheckedStrategy> strategies;
  for (int count : servers) strategies.push_back({.name = kServer, .servers = count});
  for (const AllReduceAlgorithm* algorithm : all_reduce_catalog())
    strategies.push_back({.name = algorithm->name});
  strategies.push_back({.name = kDgc});
  for (int period : periods) strategies.push_back({.name = cat("local_sgd, k = ", period), .period = period});
  return strategies;
}

void check_plan(const PlanCheckRequest& request, Log& log, const std::function<void(const Json& row)>& done) {
  PlanCheck(request, log).run(done);
}

bool is_plan_row(const Json& row, const LinkRequest& link, const CheckedStrategy& strategy) {
  return row.at("model") == link.model.name && row.at("ranks") == link.ranks &&
         row.at("bandwidth") == link.bits_per_second && row.at("compute_seconds") == link.compute_seconds &&
         row.at("strategy") == strategy.name && row.at("servers") == strategy.servers &&
         (link.link == kAnyLink || row.at("link") == link.link);
}

}  // namespace ps
