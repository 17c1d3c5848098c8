#include "bench/plan/program.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "bench/plan/columns.h"
#include "bench/plan/hetero_flags.h"
#include "bench/plan/report.h"
#include "collective/net/options.h"
#include "collective/parts.h"
#include "config/json.h"
#include "job/job.h"

namespace ps {

namespace {

constexpr int64_t kMostRanks = 100000, kMostServers = 10000;

Flag planning(Flag flag, std::string group) {
  flag.group = std::move(group);
  flag.environment = false;  // variables such as PS_SERVERS describe a cluster that exists
  return flag;
}

// Returns the flags that describe a cluster.
std::vector<Flag> cluster_flags() {
  return {
      {.name = "ranks", .argument = "N", .help = "trainers", .default_text = "2"},
      {.name = "bandwidth",
       .argument = "B",
       .help = "bits a second of a link, each way: 10G, 100M",
       .default_text = "10G"},
      {.name = "flow-bandwidth",
       .argument = "B",
       .help = "bits a second of one connection; default: those of the link",
       .details = "Some networks and clouds hold a single flow to less than a link carries."},
      {.name = "connections",
       .argument = "N",
       .help = "connections between each two trainers, as cluster.connections",
       .default_text = "1"},
      {.name = "latency", .argument = "TIME", .help = "of a message on its way (L)", .default_text = "20us"},
      {.name = "overhead",
       .argument = "TIME",
       .help = "of a processor for a message, at each end (o)",
       .default_text = "5us"},
      {.name = "gap",
       .argument = "TIME",
       .help = "least from one message to the next (g)",
       .default_text = "0s"},
      {.name = "servers",
       .argument = "N",
       .help = "servers; 0: trainer 0 is the server",
       .default_text = "1"},
      {.name = "ports", .argument = "N", .help = "shards of a server, on its one link", .default_text = "1"},
      {.name = "cores",
       .argument = "N",
       .help = "processors of a machine; 0: enough",
       .details = "With more --processes than these, all work of processors takes that many times longer.",
       .default_text = "0"},
      {.name = "processes", .argument = "N", .help = "processes of a machine", .default_text = "1"},
      {.name = "sum-rate",
       .argument = "BYTES",
       .help = "gradients that a process adds a second; 0: at once",
       .default_text = "4G"},
      {.name = "encode-rate",
       .argument = "BYTES",
       .help = "gradients that DGC packs a second; 0: at once",
       .default_text = "1G"},
      {.name = "decode-rate",
       .argument = "BYTES",
       .help = "packed gradients that a trainer adds a second",
       .default_text = "1G"},
      {.name = "chunk",
       .argument = "BYTES",
       .help = "chunks that a chain, a tree or a trainer that is the server passes on",
       .default_text = "1M"},
      {.name = "limits",
       .argument = "FILE",
       .help = "take bandwidth, latency and sum rate from ps-bench limits --json",
       .details =
           "The rate of a TCP stream, half of a round trip, and the rate of a copy of memory; what flags "
           "say comes first."},
  };
}

std::vector<Flag> training_flags() {
  return {
      {.name = "compute", .argument = "TIME", .help = "of a trainer for a step; default: by --flops"},
      {.name = "flops",
       .argument = "F",
       .help = "operations a second of a trainer: 10T, 500G",
       .details = "A step takes six for each multiplication of a forward pass over a batch.",
       .default_text = "10T"},
      {.name = "ids",
       .argument = "N",
       .help = "ids of a sequence, for gru, lstm and attention",
       .default_text = "1"},
      {.name = "density",
       .argument = "D",
       .help = "share of weights that DGC sends",
       .default_text = "0.001"},
      {.name = "periods",
       .argument = "K,...",
       .help = "steps from one exchange to the next of local SGD",
       .default_text = "4,16"},
  };
}

std::vector<Flag> simulation_flags() {
  return {
      {.name = "simulate", .help = "go through steps, message by message, on simulated time"},
      {.name = "steps",
       .argument = "N",
       .help = "steps; default: 100, or as many as 200 million messages of all strategies allow"},
      {.name = "strategies",
       .argument = "NAME,...",
       .help = "simulate these alone, of those of the table; default: all",
       .details = "local_sgd stands for that of all --periods."},
      {.name = "jitter",
       .argument = "S",
       .help = "deviation of compute, as a share of it",
       .default_text = "0"},
      {.name = "stragglers",
       .argument = "P",
       .help = "probability that a trainer is late in a step",
       .default_text = "0"},
      {.name = "straggler-factor", .argument = "F", .help = "by which it then is", .default_text = "3"},
      {.name = "link-failures",
       .argument = "P",
       .help = "probability that a trainer's link is down",
       .default_text = "0"},
      {.name = "repair", .argument = "TIME", .help = "until it is up again", .default_text = "1s"},
      {.name = "checkpoint-steps",
       .argument = "N",
       .help = "steps from one checkpoint to the next; 0: none",
       .default_text = "0"},
      {.name = "checkpoint-pause",
       .argument = "TIME",
       .help = "for which one stops all trainers",
       .default_text = "1s"},
  };
}

double byte_rate(const Flags& flags, std::string_view name) {
  return static_cast<double>(*flags.bytes(name));
}

// Returns the rate of a benchmark in a document that ps-bench limits --json has printed, or nullopt if it
// has none of this name, as after a run of some limits alone.
std::optional<double> limit_rate(const Json& document, const std::string& path, std::string_view benchmark) {
  if (!document.is_object() || !document.contains("results") || !document["results"].is_array())
    fail(Code::kUsage, path, ": not what ps-bench limits --json prints");
  for (const Json& result : document["results"]) {
    if (result.value("name", "") != benchmark || !result.contains("median_rate")) continue;
    if (!result["median_rate"].is_number() || result["median_rate"] <= 0)
      fail(Code::kUsage, path, ": ", benchmark, ".median_rate: not a rate");
    return result["median_rate"].get<double>();
  }
  return std::nullopt;
}

// Replaces the numbers of the cluster that flags did not give by measured ones.  A round trip is two
// messages, each of which takes the overhead of a processor at both ends and the latency: L = trip / 2 - 2
// o.
void apply_limits(const Flags& flags, ClusterParameters& cluster) {
  const std::optional<std::string> path = flags.text("limits");
  if (!path) return;
  const Json document = parse_json(read_file(*path), *path);
  const auto stream = limit_rate(document, *path, "limits/tcp/rate");
  const auto trips = limit_rate(document, *path, "limits/tcp/round-trip");
  const auto copy = limit_rate(document, *path, "limits/copy");
  if (stream && !flags.given("bandwidth")) cluster.bandwidth = *stream;
  if (trips && !flags.given("latency"))
    cluster.latency = std::max(0.0, 1 / *trips / 2 - 2 * cluster.overhead);
  if (copy && !flags.given("sum-rate")) cluster.sum_rate = *copy;
}

// Flags give bits a second, and the model takes bytes.  The file of --limits comes last, since the latency
// that follows from it needs the overhead.
ClusterParameters read_cluster(const Flags& flags) {
  ClusterParameters cluster;
  cluster.ranks = *flags.integer("ranks", 2, kMostRanks);
  cluster.bandwidth = decimal_rate(flags, "bandwidth") / 8;
  if (flags.given("flow-bandwidth")) cluster.flow_bandwidth = decimal_rate(flags, "flow-bandwidth") / 8;
  cluster.connections = *flags.integer("connections", 1, kMostConnections);
  cluster.latency = *flags.seconds("latency", 0, 3600);
  cluster.overhead = *flags.seconds("overhead", 0, 3600);
  cluster.gap = *flags.seconds("gap", 0, 3600);
  cluster.servers = *flags.integer("servers", 0, kMostServers);
  cluster.ports = *flags.integer("ports", 1, 1024);
  cluster.cores = *flags.integer("cores", 0, 1 << 20);
  cluster.processes = *flags.integer("processes", 1, 1 << 20);
  cluster.sum_rate = byte_rate(flags, "sum-rate");
  cluster.encode_rate = byte_rate(flags, "encode-rate");
  cluster.decode_rate = byte_rate(flags, "decode-rate");
  cluster.chunk_bytes = static_cast<double>(*flags.bytes("chunk", 1 << 10));
  cluster.one_round_bytes = kOneRoundBytes;
  apply_limits(flags, cluster);
  return cluster;
}

std::vector<int64_t> read_periods(const Flags& flags) {
  std::vector<int64_t> periods;
  for (const std::string& text : flags.list("periods")) {
    const std::optional<int64_t> period = parse_int(text);
    if (!period || *period < 2 || *period > 10000)
      flags.refuse("periods", cat(quote(text), " is not a number of steps, from 2 to 10000"));
    periods.push_back(*period);
  }
  return periods;
}

Noise read_noise(const Flags& flags, uint64_t seed) {
  Noise noise;
  noise.jitter = *flags.number("jitter", 0, 10);
  noise.stragglers = *flags.number("stragglers", 0, 1);
  noise.straggler_factor = *flags.number("straggler-factor", 0, 1e6);
  noise.link_failures = *flags.number("link-failures", 0, 1);
  noise.repair_seconds = *flags.seconds("repair", 0, 1e6);
  noise.checkpoint_steps = *flags.integer("checkpoint-steps", 0, 1 << 30);
  noise.checkpoint_seconds = *flags.seconds("checkpoint-pause", 0, 1e6);
  noise.seed = seed;
  return noise;
}

// A step of an optimizer takes `accumulate` batches, so its compute grows with them; --compute, if it is
// given, is that of a whole step.
PlanRequest read_request(const Flags& flags, const Job& job) {
  PlanRequest request;
  request.layers = planned_network(job).layer_sizes(*flags.integer("ids", 1, 1 << 20));
  request.cluster = read_cluster(flags);
  request.batch = job.data.batch_size * job.train.accumulate;
  request.density = *flags.number("density", 0, 1);
  request.periods = read_periods(flags);
  const double by_flops = operations(request.layers, request.batch) / decimal_rate(flags, "flops");
  request.compute_seconds = flags.seconds("compute", 0, 1e6).value_or(by_flops);
  return request;
}

// Returns true if `name` names this strategy of a plan.  "local_sgd" names "local_sgd, k = 4" and all other
// periods, since a comma divides the names of a list.
bool names_strategy(const std::string& name, const StrategyPlan& strategy) {
  return strategy.name == name || strategy.name.starts_with(name + ", ");
}

// Returns the strategies that --strategies names, or all of the plan without it.
std::vector<StrategyPlan> simulated_strategies(const Flags& flags, const Plan& plan) {
  const std::vector<std::string> names = flags.list("strategies");
  if (names.empty()) return plan.strategies;
  std::vector<StrategyPlan> strategies;
  for (const std::string& name : names) {
    const size_t before = strategies.size();
    std::copy_if(plan.strategies.begin(), plan.strategies.end(), std::back_inserter(strategies),
                 [&](const StrategyPlan& strategy) { return names_strategy(name, strategy); });
    if (strategies.size() == before) flags.refuse("strategies", cat("there is no ", quote(name)));
  }
  return strategies;
}

// Simulates each strategy for a whole number of its periods.  Without --steps the budget of messages is
// shared evenly by the strategies, so that the whole takes some seconds whatever the size of the cluster.
std::vector<Simulation> simulate_all(const Flags& flags, const Plan& plan, uint64_t seed) {
  constexpr double kMostMessages = 2e8;  // of all strategies together, except for the first exchange of each
  const Noise noise = read_noise(flags, seed);
  std::vector<Simulation> simulations;
  const std::vector<StrategyPlan> strategies = simulated_strategies(flags, plan);
  for (const StrategyPlan& strategy : strategies) {
    const int64_t period = strategy.strategy.period;
    const std::optional<int64_t> wanted = flags.integer("steps", 1, 10000000);
    const int64_t steps = wanted ? (*wanted + period - 1) / period * period
                                 : affordable_steps(strategy.strategy, plan.request.cluster, plan.payload,
                                                    kMostMessages / static_cast<double>(strategies.size()));
    simulations.push_back({strategy.name, strategy.step_seconds, steps,
                           simulate(strategy.strategy, plan.request.cluster, plan.payload,
                                    plan.request.compute_seconds, steps, noise)});
  }
  return simulations;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int print_published(const Flags& flags) {
  const std::vector<PublishedTable> tables = published_tables();
  print(flags.on("json") ? published_json(tables).dump(2) + "\n"
                         : published_text(tables, flags.on("markdown")));
  return 0;
}

}  // namespace

Program plan_program() {
  std::vector<Flag> flags;
  for (const Flag& flag : cluster_flags()) flags.push_back(planning(flag, "cluster"));
  for (const Flag& flag : training_flags()) flags.push_back(planning(flag, "training"));
  for (const Flag& flag : simulation_flags()) flags.push_back(planning(flag, "simulation"));
  for (const Flag& flag : hetero_flags()) flags.push_back(planning(flag, "heterogeneous"));
  flags.push_back({.name = "markdown", .help = "print tables of Markdown", .group = "output"});
  flags.push_back({.name = "published",
                   .help = "print published measurements beside the model, and end",
                   .group = "output",
                   .standalone = true,
                   .environment = false});
  return {.name = "ps-bench plan",
          .summary = "what a cluster of this size and bandwidth would do with a job",
          .synopsis = "JOB.json [flags]",
          .positionals = {{.name = "JOB.json", .help = "the job file, or the name of a ready-made job"}},
          .flags = with_common_flags(std::move(flags), {"set", "seed", "json", "log-level"}),
          .examples = {{"ps-bench plan alexnet --ranks 8 --bandwidth 1G", "layers, steps, advice"},
                       {"ps-bench plan --published", "the model beside measurements"}}};
}

// Answers one of four questions: published measurements beside the model; where to cut a job between
// processors and accelerators; the plan; the plan and its simulation.
int run_plan(const Flags& flags, Log&) {
  if (flags.on("markdown") && flags.on("json")) flags.refuse("markdown", "give this or --json");
  if (flags.on("published")) return print_published(flags);
  const Job job = load_job(flags.positionals().front(), flags.overrides());
  if (flags.on("hetero")) {
    const HeteroPlan plan = make_hetero_plan(read_hetero(flags, job));
    print(flags.on("json") ? hetero_json(job.job.name, plan).dump(2) + "\n"
                           : hetero_text(job.job.name, plan, flags.on("markdown")));
    return 0;
  }
  const Plan plan = make_plan(read_request(flags, job));
  std::vector<Simulation> simulations;
  if (flags.on("simulate")) simulations = simulate_all(flags, plan, job.job.seed);
  if (flags.on("json")) {
    Json out = plan_json(job.job.name, plan);
    if (flags.on("simulate")) out["simulated"] = simulations_json(simulations);
    print(out.dump(2) + "\n");
    return 0;
  }
  print(plan_text(job.job.name, plan, flags.on("markdown")));
  if (flags.on("simulate")) print(simulations_text(simulations, flags.on("markdown")));
  return 0;
}

}  // namespace ps
