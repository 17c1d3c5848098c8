#include "bench/plan/report.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "bench/plan/columns.h"
#include "config/json.h"

namespace ps {

namespace {

std::string megabytes(double bytes) {
  return significant(bytes / 1e6, 4);
}

std::string cluster_text(const ClusterParameters& cluster) {
  const std::string servers = cluster.servers == 0
                                  ? "the first of which is the server"
                                  : cat(cluster.servers, " servers of ", cluster.ports, " ports");
  const std::string connections = cluster.flow_bandwidth == 0
                                      ? ""
                                      : cat(" (", quantity_text(8 * cluster.flow_bandwidth, "bit/s"),
                                            " a connection, ", cluster.connections, " between each two)");
  return cat(cluster.ranks, " trainers, ", servers, ", links of ",
             quantity_text(8 * cluster.bandwidth, "bit/s"), connections, ", L ",
             seconds_text(cluster.latency), ", o ", seconds_text(cluster.overhead), ", g ",
             seconds_text(cluster.gap));
}

// Returns a line for each layer with dense weights: the bytes of weights |W| and activations |D|, the
// seconds to exchange it by data or by model parallelism, and the cheaper of the two.  The last line has
// the sums.
std::vector<Cells> layer_rows(const Plan& plan) {
  std::vector<Cells> rows = {
      {"layer", "type", "|W| MB", "|D| MB", "multiply-adds", "data", "model", "split by"}};
  for (const LayerPlan& layer : plan.layers) {
    if (layer.size.weights == 0) continue;
    rows.push_back(
        {layer.size.name, layer.size.type, megabytes(layer.weight_bytes), megabytes(layer.activation_bytes),
         quantity_text(static_cast<double>(layer.size.multiply_adds), ""), seconds_text(layer.data_seconds),
         layer.model_seconds ? seconds_text(*layer.model_seconds) : "-",
         layer.model_parallel() ? "model" : "data"});
  }
  rows.push_back(
      {"all", "", megabytes(plan.payload.dense_bytes), megabytes(plan.activation_bytes), "", "", "", ""});
  return rows;
}

std::vector<Cells> strategy_rows(const Plan& plan) {
  std::vector<Cells> rows = {
      {"strategy", "latency", "overhead", "transfer", "sum", "codec", "exchange", "step", "examples/s"}};
  for (const StrategyPlan& strategy : plan.strategies) {
    const ExchangeCost& cost = strategy.exchange;
    rows.push_back({strategy.name, seconds_text(cost.latency), seconds_text(cost.overhead),
                    seconds_text(cost.transfer), seconds_text(cost.sum), seconds_text(cost.codec),
                    seconds_text(cost.total()), seconds_text(strategy.step_seconds),
                    significant(strategy.examples_per_second, 4)});
  }
  return rows;
}

// A point has a value, or one way is always better ("any"), or it never is ("none").  The model counts
// bytes, and bandwidths are told in bits.
std::vector<Cells> break_even_rows(const Plan& plan) {
  std::vector<Cells> rows = {{"break-even point", "at"}};
  for (const BreakEven& point : plan.break_evens) {
    const bool rate = point.unit.ends_with("/s");
    const double value = point.value.value_or(0) * (point.unit == "bit/s" ? 8 : 1);
    rows.push_back({point.what, point.always   ? "any"
                                : !point.value ? "none"
                                : rate         ? quantity_text(value, point.unit)
                                               : significant(value, 6)});
  }
  return rows;
}

Json cost_json(const ExchangeCost& cost) {
  return {{"latency", cost.latency}, {"overhead", cost.overhead}, {"transfer", cost.transfer},
          {"sum", cost.sum},         {"codec", cost.codec},       {"total", cost.total()}};
}

Json layer_json(const LayerPlan& layer) {
  Json out = {{"name", layer.size.name},
              {"type", layer.size.type},
              {"weight_bytes", layer.weight_bytes},
              {"activation_bytes", layer.activation_bytes},
              {"multiply_adds", layer.size.multiply_adds}};
  if (layer.size.weights > 0) out["data_seconds"] = layer.data_seconds;
  if (layer.model_seconds) out["model_seconds"] = *layer.model_seconds;
  if (layer.size.weights > 0) out["split_by"] = layer.model_parallel() ? "model" : "data";
  return out;
}

}  // namespace

// Writes the bytes of a step, the cluster, the layers, the strategies with the terms of their cost, the
// points at which one overtakes another, and advice.
std::string plan_text(const std::string& job, const Plan& plan, bool markdown) {
  const PlanRequest& request = plan.request;
  std::string out = cat(job, ": ", megabytes(plan.payload.dense_bytes), " MB of dense weights, ",
                        megabytes(plan.payload.packed_bytes), " MB after DGC at a density of ",
                        significant(request.density, 3), "\n", cluster_text(request.cluster), "\n",
                        seconds_text(request.compute_seconds), " of compute for a step of ", request.batch,
                        " examples a trainer\n");
  const bool sparse = std::any_of(request.layers.begin(), request.layers.end(),
                                  [](const LayerSize& layer) { return layer.sparse; });
  if (sparse) append(out, "tables of sparse layers are left out: their bytes depend on the data\n");
  append(out, titled_table("Layers with dense weights, and seconds to exchange each by itself",
                           layer_rows(plan), markdown));
  append(out, titled_table("A step", strategy_rows(plan), markdown));
  append(out, titled_table("Where one way overtakes another", break_even_rows(plan), markdown));
  append(out, "\n");
  for (const std::string& line : plan.advice) append(out, cat("- ", line, "\n"));
  return out;
}

std::string simulations_text(const std::vector<Simulation>& simulations, bool markdown) {
  std::vector<Cells> rows = {{"strategy", "steps", "formula", "mean", "median", "slowest", "late trainers",
                              "links down", "checkpoints"}};
  for (const Simulation& simulation : simulations) {
    const SimulatedRun& run = simulation.run;
    rows.push_back({simulation.name, cat(simulation.steps), seconds_text(simulation.formula_seconds),
                    seconds_text(run.mean_seconds()), seconds_text(run.quantile_seconds(0.5)),
                    seconds_text(run.quantile_seconds(1)), cat(run.stragglers), cat(run.link_failures),
                    cat(run.checkpoints)});
  }
  return titled_table("A step on simulated time", rows, markdown);
}

std::string published_text(const std::vector<PublishedTable>& tables, bool markdown) {
  std::string out;
  for (const PublishedTable& published : tables) {
    std::vector<Cells> rows = {{published.name, "published", "modelled", "error"}};
    for (const PublishedFigure& figure : published.figures) {
      rows.push_back({figure.what, significant(figure.published, 4), significant(figure.modelled, 4),
                      cat(significant(100 * figure.error(), 2), " %")});
    }
    append(out,
           titled_table(cat(published.source, "; ", published.unit, "; ", published.model), rows, markdown));
  }
  return out.substr(1);  // without the first empty line
}

Json plan_json(const std::string& job, const Plan& plan) {
  Json out = {{"job", job},
              {"weight_bytes", plan.payload.dense_bytes},
              {"packed_bytes", plan.payload.packed_bytes},
              {"activation_bytes", plan.activation_bytes},
              {"compute_seconds", plan.request.compute_seconds},
              {"best", plan.strategies[plan.best].name},
              {"connections", plan.connections},
              {"advice", plan.advice}};
  for (const LayerPlan& layer : plan.layers) out["layers"].push_back(layer_json(layer));
  for (const StrategyPlan& strategy : plan.strategies) {
    out["strategies"].push_back({{"name", strategy.name},
                                 {"exchange_seconds", cost_json(strategy.exchange)},
                                 {"step_seconds", strategy.step_seconds},
                                 {"examples_per_second", strategy.examples_per_second}});
  }
  for (const BreakEven& point : plan.break_evens) {
    Json entry = {{"what", point.what}, {"unit", point.unit}, {"value", Json()}, {"always", point.always}};
    if (point.value) entry["value"] = *point.value * (point.unit == "bit/s" ? 8 : 1);
    out["break_evens"].push_back(entry);
  }
  return out;
}

Json simulations_json(const std::vector<Simulation>& simulations) {
  Json out = Json::array();
  for (const Simulation& simulation : simulations) {
    const SimulatedRun& run = simulation.run;
    out.push_back({{"name", simulation.name},
                   {"formula_seconds", simulation.formula_seconds},
                   {"mean_seconds", run.mean_seconds()},
                   {"step_seconds", run.step_seconds},
                   {"stragglers", run.stragglers},
                   {"link_failures", run.link_failures},
                   {"checkpoints", run.checkpoints}});
  }
  return out;
}

Json published_json(const std::vector<PublishedTable>& tables) {
  Json out = Json::array();
  for (const PublishedTable& published : tables) {
    Json figures = Json::array();
    for (const PublishedFigure& figure : published.figures) {
      figures.push_back({{"what", figure.what},
                         {"published", figure.published},
                         {"modelled", figure.modelled},
                         {"error", figure.error()}});
    }
    out.push_back({{"name", published.name},
                   {"unit", published.unit},
                   {"source", published.source},
                   {"model", published.model},
                   {"tolerance", published.tolerance},
                   {"figures", figures}});
  }
  return out;
}

}  // namespace ps
