#include "bench/link/measurements.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/statistics.h"
#include "bench/link/link_model.h"
#include "bench/link/rank_run.h"
#include "bench/link/steps.h"
#include "bench/plan/columns.h"
#include "config/json.h"
#include "simulate/published.h"

namespace ps {

namespace {

// The results of ranks; each rank's thread writes its own.
template <class Result>
using ByRank = std::vector<Result>;

// Opens the links, probes them, and runs `body` on all ranks.  One owner thread; the ranks' threads only read
// it, except that rank 0's sets `probe`.
struct LinkSession {
  LinkSession(const LinkRequest& wanted, Log& log)
      : request(wanted), links(make_rank_links(wanted.link, wanted.ranks, wanted.bits_per_second, log)) {}

  void run(const RankBody& body) {
    run_ranks(*links, request.ranks, link_patience(request), [&](ExchangeCommunicator& communicator) {
      const LinkProbe found = probe_links(communicator, request.bits_per_second);
      if (communicator.rank() == 0) probe = found;
      body(communicator);
    });
  }

  // Makes a row with the keys that all rows of a suite have.
  Json row(const char* suite) const {
    return {{"suite", suite},
            {"model", request.model.name},
            {"ranks", request.ranks},
            {"link", links->name()},
            {"link_text", links->description()},
            {"bandwidth", request.bits_per_second},
            {"bandwidth_text", decimal_rate_text(request.bits_per_second)},
            {"measured_bandwidth", probe.bits_per_second},
            {"latency_seconds", probe.latency_seconds},
            {"dense_bytes", request.model.bytes()},
            {"compute_seconds", request.compute_seconds}};
  }

  // Returns the seconds of a step by the cost model, over links with the measured bandwidth and latency.
  double modelled(ExchangeKind exchange) const {
    const ExchangeCost cost =
        exchange_cost(exchange, link_cluster(request.ranks, probe), link_payload(request.model));
    return request.compute_seconds + cost.total();
  }

  const LinkRequest& request;
  const std::unique_ptr<RankLinks> links;
  LinkProbe probe;
};

size_t rank_index(const ExchangeCommunicator& communicator) {
  return static_cast<size_t>(communicator.rank());
}

StepRun timed(const LinkRequest& request, ExchangeCommunicator& communicator, LinkStep& step) {
  return run_step(communicator, step, request.most_runs, request.budget_seconds);
}

double percent_off(double found, double expected) {
  return 100 * (found / expected - 1);
}

void expect_right(const char* what, const StepRun& run) {
  if (run.wrong != 0) fail(Code::kInternal, what, ": ", run.wrong, " values of the sum are wrong");
}

// Returns a published figure to stand beside the measured one, or null where nothing was published for it.
Json published(const std::string& table, const std::string& what) {
  for (const PublishedTable& each : published_tables()) {
    for (const PublishedFigure& figure : each.figures) {
      if (each.name == table && figure.what == what) return figure.published;
    }
  }
  return nullptr;
}

// --- Deep Gradient Compression beside dense momentum

// The results of one rank.
struct DgcRank {
  StepRun momentum, overlapped, dgc;
  double bytes = 0, dgc_bytes = 0;  // bytes of a step by the formula of the exchange
  DgcExchangeStep::Terms terms;
  uint64_t digest = 0;
};

// Measures dense momentum and DGC.  The exchange of momentum runs after the backward pass, as in the
// published table, and in a second measurement beside it.
DgcRank measure_dgc_rank(const LinkRequest& request, ExchangeCommunicator& communicator) {
  DgcRank out;
  for (const auto exchange : {DenseStep::Exchange::kAfterwards, DenseStep::Exchange::kOverlapped}) {
    DenseStep step(communicator, request.model, request.compute_seconds, all_reduce_algorithm("direct"),
                   exchange);
    const bool afterwards = exchange == DenseStep::Exchange::kAfterwards;
    (afterwards ? out.momentum : out.overlapped) = timed(request, communicator, step);
    out.bytes = step.expected_bytes();
  }
  DgcExchangeStep step(communicator, request.model, request.compute_seconds,
                       DgcExchangeStep::Packing::kBeside, request.encoding);
  out.dgc = timed(request, communicator, step);
  out.dgc_bytes = step.expected_bytes();
  out.terms = step.terms();
  out.digest = step.digest();
  return out;
}

// Returns the runs of the slowest rank, of the kind of step that `of` takes out of a rank's results.
// Throws if a sum of any rank was wrong.
template <class Of>
StepRun slowest_of(const ByRank<DgcRank>& ranks, const char* what, Of&& of) {
  std::vector<StepRun> runs;
  for (const DgcRank& rank : ranks) runs.push_back(of(rank));
  StepRun run = slowest(runs);
  expect_right(what, run);
  return run;
}

// Makes the row of a link: seconds are medians over the runs of the slowest rank in each; the speed-up is
// momentum over DGC, both measured here, with the published ones beside them.  The terms of DGC's step are
// those of rank 0.  Ranks must have the same digest, or DGC would train different models.
Json dgc_row(const LinkSession& session, const ByRank<DgcRank>& ranks) {
  const StepRun momentum = slowest_of(ranks, "momentum", [](const DgcRank& rank) { return rank.momentum; });
  const StepRun overlapped =
      slowest_of(ranks, "overlapped momentum", [](const DgcRank& rank) { return rank.overlapped; });
  const StepRun dgc = slowest_of(ranks, "DGC", [](const DgcRank& rank) { return rank.dgc; });
  for (const DgcRank& rank : ranks) {
    if (rank.digest != ranks[0].digest) fail(Code::kInternal, "DGC: the sums of ranks differ");
  }
  Json row = session.row("dgc");
  const double seconds = median(momentum.seconds), dgc_seconds = median(dgc.seconds);
  const std::string link = row["bandwidth_text"];
  row["momentum_seconds"] = seconds;
  row["modelled_momentum_seconds"] = session.modelled(ExchangeKind::kDirect);
  row["overlapped_seconds"] = median(overlapped.seconds);
  row["dgc_seconds"] = dgc_seconds;
  row["speed_up"] = seconds / dgc_seconds;
  row["overlapped_speed_up"] = median(overlapped.seconds) / dgc_seconds;
  row["dgc_pack_seconds"] = ranks[0].terms.pack;
  row["dgc_exchange_seconds"] = ranks[0].terms.exchange;
  row["dgc_apply_seconds"] = ranks[0].terms.apply;
  row["encoding"] = session.request.encoding;
  row["momentum_bytes"] = momentum.bytes;
  row["momentum_bytes_off"] = percent_off(momentum.bytes, ranks[0].bytes);
  row["dgc_bytes"] = dgc.bytes;
  row["dgc_bytes_off"] = percent_off(dgc.bytes, ranks[0].dgc_bytes);
  row["fewer_bytes"] = momentum.bytes / dgc.bytes;
  row["wrong_values"] = momentum.wrong + overlapped.wrong + dgc.wrong;
  row["published_momentum_seconds"] = published("PaddlePaddle DGC", cat(link, ", momentum"));
  row["published_dgc_seconds"] = published("PaddlePaddle DGC", cat(link, ", DGC"));
  row["published_speed_up"] = published("PaddlePaddle DGC", cat(link, ", speed-up"));
  return row;
}

// --- Local SGD

// A run is a period, so its seconds are divided by its steps.  The possible time of a step is the compute
// and the modelled exchange, of which each step bears 1 / period; the share says how near the measured step
// comes to it.
Json local_sgd_row(const LinkSession& session, int period, const StepRun& run) {
  const LinkRequest& request = session.request;
  const double steps = period, step_seconds = median(run.seconds) / steps;
  const double exchange = session.modelled(ExchangeKind::kDirect) - request.compute_seconds;
  const double possible = request.compute_seconds + exchange / steps;
  const double examples = static_cast<double>(request.batch) * request.ranks;
  Json row = session.row("local-sgd");
  row["period"] = period;
  row["step_seconds"] = step_seconds;
  row["examples_per_second"] = examples / step_seconds;
  row["modelled_step_seconds"] = possible;
  row["share_of_modelled"] = possible / step_seconds;
  row["wrong_values"] = run.wrong;
  row["published_images_per_second"] = published("Fleet local SGD", cat("k = ", period));
  return row;
}

// Sets the key `gain` of each row to the ratio of its rate to that of the first row.
void add_gains(std::vector<Json>& rows, const char* rate, const char* gain) {
  for (Json& row : rows) {
    row[gain] = nullptr;
    if (row[rate].is_number() && rows[0][rate].is_number())
      row[gain] = row[rate].get<double>() / rows[0][rate].get<double>();
  }
}

// --- Weak scaling

std::unique_ptr<LinkStep> scaling_step(const LinkRequest& request, ExchangeCommunicator& communicator,
                                       const std::string& algorithm) {
  if (algorithm == "dgc")
    return std::make_unique<DgcExchangeStep>(communicator, request.model, request.compute_seconds);
  return std::make_unique<DenseStep>(communicator, request.model, request.compute_seconds,
                                     all_reduce_algorithm(algorithm), DenseStep::Exchange::kAfterwards);
}

// In weak scaling each rank has the same compute whatever the number of ranks, so the efficiency is the
// compute divided by the whole step.
Json scaling_row(const LinkSession& session, const std::string& algorithm, const StepRun& run,
                 double expected_bytes) {
  const double seconds = median(run.seconds), modelled = session.modelled(exchange_named(algorithm));
  Json row = session.row("scaling");
  row["algorithm"] = algorithm;
  row["step_seconds"] = seconds;
  row["modelled_step_seconds"] = modelled;
  row["off_model"] = percent_off(seconds, modelled);
  row["efficiency"] = session.request.compute_seconds / seconds;
  row["bytes"] = run.bytes;
  row["bytes_off"] = percent_off(run.bytes, expected_bytes);
  row["wrong_values"] = run.wrong;
  return row;
}

}  // namespace

// The measurements below have one shape: all ranks run the same kinds of step in the same order, since a
// step is a collective; each rank's thread writes its results into its own place; and rows are made after
// the ranks have ended.
std::vector<Json> measure_dgc(const LinkRequest& request, Log& log) {
  LinkSession session(request, log);
  ByRank<DgcRank> ranks(static_cast<size_t>(request.ranks));
  session.run([&](ExchangeCommunicator& communicator) {
    ranks[rank_index(communicator)] = measure_dgc_rank(request, communicator);
  });
  return {dgc_row(session, ranks)};
}

// Measures each period, and gives each row its gain over the first one, measured and as published.
std::vector<Json> measure_local_sgd(const LinkRequest& request, Log& log) {
  LinkSession session(request, log);
  std::vector<ByRank<StepRun>> of_periods(request.periods.size(),
                                          ByRank<StepRun>(static_cast<size_t>(request.ranks)));
  session.run([&](ExchangeCommunicator& communicator) {
    for (size_t i = 0; i < request.periods.size(); ++i) {
      LocalSgdPeriod period(communicator, request.model, request.compute_seconds, request.periods[i]);
      of_periods[i][rank_index(communicator)] = timed(request, communicator, period);
    }
  });
  std::vector<Json> rows;
  for (size_t i = 0; i < request.periods.size(); ++i) {
    const StepRun run = slowest(of_periods[i]);
    expect_right("local SGD", run);
    rows.push_back(local_sgd_row(session, request.periods[i], run));
  }
  add_gains(rows, "examples_per_second", "gain");
  add_gains(rows, "published_images_per_second", "published_gain");
  return rows;
}

// Measures each algorithm with one number of ranks; the caller's rows of other numbers complete the table.
std::vector<Json> measure_scaling(const LinkRequest& request, Log& log) {
  LinkSession session(request, log);
  std::vector<ByRank<StepRun>> runs(request.algorithms.size(),
                                    ByRank<StepRun>(static_cast<size_t>(request.ranks)));
  std::vector<double> expected(request.algorithms.size());
  session.run([&](ExchangeCommunicator& communicator) {
    for (size_t i = 0; i < request.algorithms.size(); ++i) {
      const auto step = scaling_step(request, communicator, request.algorithms[i]);
      runs[i][rank_index(communicator)] = timed(request, communicator, *step);
      if (communicator.rank() == 0) expected[i] = step->expected_bytes();
    }
  });
  std::vector<Json> rows;
  for (size_t i = 0; i < request.algorithms.size(); ++i) {
    const StepRun run = slowest(runs[i]);
    expect_right(request.algorithms[i].c_str(), run);
    rows.push_back(scaling_row(session, request.algorithms[i], run, expected[i]));
  }
  return rows;
}

// Returns the bars for PaddlePaddle's configuration on 2 ranks, for the bytes that the paper of DGC
// published, which need no fast link, and for local SGD with k = 16 over 1 Gbit/s.
std::vector<LinkBar> link_bars(const std::vector<Json>& rows) {
  std::vector<LinkBar> bars;
  for (const Json& row : rows) {
    const double link = row["bandwidth"];
    const bool full = row["measured_bandwidth"].get<double>() >= kFullLink * link;
    if (row["suite"] == "dgc" && row["model"] == "faster-rcnn" && row["ranks"] == 2) {
      if (link == 1e9) bars.push_back({"DGC's speed-up, 1G", "x", row["speed_up"], 6, 6.65, full});
      if (link == 1e10) bars.push_back({"DGC's speed-up, 10G", "x", row["speed_up"], 1.4, 1.5, full});
    }
    if (row["suite"] == "dgc" && row["ranks"] == 2) {
      const double fewer = row["fewer_bytes"];
      if (row["model"] == "resnet50")
        bars.push_back({"DGC on ResNet-50: times fewer bytes", "x", fewer, 277, 277, true});
      if (row["model"] == "alexnet")
        bars.push_back({"DGC on AlexNet: times fewer bytes", "x", fewer, 590, 597, true});
    }
    if (row["suite"] == "local-sgd" && row["period"] == 16 && link == 1e9) {
      const double share = row["share_of_modelled"];
      bars.push_back(
          {"local SGD, k = 16, 1G: share of the cost model's possible", "%", 100 * share, 90, 97, full});
    }
  }
  return bars;
}

}  // namespace ps
