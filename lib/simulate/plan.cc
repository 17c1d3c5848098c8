#include "simulate/plan.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "collective/net/options.h"

namespace ps {

namespace {

constexpr double kFloatBytes = 4;

bool has_activations(const LayerSize& layer) {
  constexpr std::string_view kTypes[] = {"conv2d", "fc", "gru", "lstm", "attention"};
  return std::find(std::begin(kTypes), std::end(kTypes), layer.type) != std::end(kTypes);
}

// Returns the bytes of a layer, |W| = 4 weights and |D| = 4 inputs x examples of all trainers, and the
// seconds of its exchange by `direct`.  A layer without weights has nothing to exchange.
LayerPlan plan_layer(const LayerSize& size, const PlanRequest& request) {
  LayerPlan layer;
  layer.size = size;
  layer.weight_bytes = kFloatBytes * static_cast<double>(size.weights);
  const double examples = static_cast<double>(request.batch * request.cluster.ranks);
  if (has_activations(size))
    layer.activation_bytes = kFloatBytes * examples * static_cast<double>(size.inputs);
  if (size.weights == 0) return layer;
  auto seconds = [&](double bytes) {
    return exchange_cost(ExchangeKind::kDirect, request.cluster, {.dense_bytes = bytes}).total();
  };
  layer.data_seconds = seconds(layer.weight_bytes);
  // A layer divided among trainers gathers its input from all of them, and reduce-scatters the gradient of the
  // input: the two rounds of `direct` in the reverse order.
  if (size.type == "fc") layer.model_seconds = seconds(layer.activation_bytes);
  return layer;
}

// Returns the share that one step has of an exchange which is made once in so many steps.
ExchangeCost share_of(const ExchangeCost& cost, double periods) {
  return {cost.latency / periods, cost.overhead / periods, cost.transfer / periods, cost.sum / periods,
          cost.codec / periods};
}

// Returns the plan of a strategy: step_seconds = compute_seconds + exchange / period, since computing and
// exchanging do not overlap.
StrategyPlan plan_strategy(const SimulatedStrategy& strategy, const PlanRequest& request,
                           const StepBytes& payload) {
  const ExchangeEntry& entry = exchange_entry(strategy.exchange);
  StrategyPlan plan;
  plan.name = entry.name;
  plan.help = entry.help;
  if (strategy.period > 1) {
    plan.name = cat("local_sgd, k = ", strategy.period);
    plan.help = cat("weights averaged every ", strategy.period, " steps, by ", entry.name);
  }
  plan.strategy = strategy;
  plan.exchange = share_of(exchange_cost(strategy.exchange, request.cluster, payload),
                           static_cast<double>(strategy.period));
  plan.step_seconds = request.compute_seconds + plan.exchange.total();
  plan.examples_per_second = static_cast<double>(request.batch * request.cluster.ranks) / plan.step_seconds;
  return plan;
}

// The fastest of the dense exchanges that add in rank order.
ExchangeKind best_dense(const ClusterParameters& cluster, const StepBytes& payload) {
  ExchangeKind best = ExchangeKind::kServer;
  for (ExchangeKind other : {ExchangeKind::kDirect, ExchangeKind::kChain}) {
    if (exchange_cost(other, cluster, payload).total() < exchange_cost(best, cluster, payload).total())
      best = other;
  }
  return best;
}

double best_dense_seconds(const ClusterParameters& cluster, const StepBytes& payload) {
  return exchange_cost(best_dense(cluster, payload), cluster, payload).total();
}

// Returns the bandwidth, from 1 Mbit/s to 10 Tbit/s, below which pays() is true.
template <class Pays>
BreakEven break_even_bandwidth(const std::string& what, const Pays& pays) {
  // The loop halves the interval on a logarithmic scale.  pays(low) is true and pays(high) is false all the
  // time, until the two are equal but for 1/10000.
  double low = 1e6 / 8, high = 1e13 / 8;
  BreakEven point{what, "bit/s", std::nullopt, pays(high)};
  if (point.always || !pays(low)) return point;
  while (high / low > 1.0001) {
    const double middle = std::sqrt(low * high);
    (pays(middle) ? low : high) = middle;
  }
  point.value = low;
  return point;
}

// Returns the bandwidth below which DGC makes a step shorter by more than the share `gain` than the best
// dense exchange at the same bandwidth does.
BreakEven dgc_bandwidth(const PlanRequest& request, const StepBytes& payload, double gain) {
  auto pays = [&](double bandwidth) {
    ClusterParameters cluster = request.cluster;
    cluster.bandwidth = bandwidth;
    const double dense = request.compute_seconds + best_dense_seconds(cluster, payload);
    const double dgc = request.compute_seconds + exchange_cost(ExchangeKind::kDgc, cluster, payload).total();
    return dgc < dense * (1 - gain);
  };
  const std::string than = gain > 0 ? cat(100 * gain, " % shorter") : "shorter";
  return break_even_bandwidth(cat("bandwidth below which dgc makes a step ", than), pays);
}

// Returns the bandwidth below which it is worthwhile to exchange only after every `period` steps.
BreakEven local_sgd_bandwidth(const PlanRequest& request, const StepBytes& payload, int64_t period) {
  auto pays = [&](double bandwidth) {
    ClusterParameters cluster = request.cluster;
    cluster.bandwidth = bandwidth;
    const double dense = best_dense_seconds(cluster, payload);
    const double rarer = request.compute_seconds + dense / static_cast<double>(period);
    return rarer < (request.compute_seconds + dense) * (1 - kWorthwhileGain);
  };
  return break_even_bandwidth(cat("bandwidth below which local_sgd, k = ", period, " makes a step ",
                                  100 * kWorthwhileGain, " % shorter"),
                              pays);
}

// Returns the rate of packing at which DGC takes as long as the dense exchange: packing then takes the time
// that its smaller messages save.
BreakEven encode_rate(const PlanRequest& request, const StepBytes& payload) {
  const ExchangeCost dgc = exchange_cost(ExchangeKind::kDgc, request.cluster, payload);
  const double encoding = work_seconds(request.cluster, payload.dense_bytes, request.cluster.encode_rate);
  const double left = best_dense_seconds(request.cluster, payload) - (dgc.total() - encoding);
  BreakEven point{"encode rate above which dgc makes a step shorter", "B/s", std::nullopt, false};
  // Encoding takes dense_bytes x contention / rate seconds.  If the packed messages alone take longer than
  // the dense exchange does, no rate is enough, and the point has no value.
  if (left > 0) point.value = payload.dense_bytes * request.cluster.contention() / left;
  return point;
}

// Returns the number of servers with which trainers lose little by not exchanging gradients among themselves.
BreakEven enough_servers(const PlanRequest& request, const StepBytes& payload) {
  BreakEven point{cat("servers from which a step through them is at most ", 100 * kWorthwhileGain,
                      " % longer than with direct"),
                  "servers", std::nullopt, false};
  const double direct = exchange_cost(ExchangeKind::kDirect, request.cluster, payload).total();
  const double allowed = (request.compute_seconds + direct) * (1 + kWorthwhileGain);
  ClusterParameters cluster = request.cluster;
  for (cluster.servers = 1; cluster.servers <= request.cluster.ranks && !point.value; ++cluster.servers) {
    const double server = exchange_cost(ExchangeKind::kServer, cluster, payload).total();
    if (request.compute_seconds + server <= allowed) point.value = static_cast<double>(cluster.servers);
  }
  return point;
}

// Returns the fewest connections between each two trainers with which the exchange takes at most one hundredth longer
// than with the most that there may be.
int64_t enough_connections(ExchangeKind exchange, ClusterParameters cluster, const StepBytes& payload) {
  constexpr double kLittle = 1.01;
  cluster.connections = kMostConnections;
  const double least = exchange_cost(exchange, cluster, payload).total();
  for (cluster.connections = 1; cluster.connections < kMostConnections; ++cluster.connections) {
    if (exchange_cost(exchange, cluster, payload).total() <= kLittle * least) break;
  }
  return cluster.connections;
}

std::string percent(double share) {
  return cat(significant(100 * share, 2), " %");
}

// Writes the sentences of Plan::advice.  One owner thread.
class Adviser {
 public:
  explicit Adviser(Plan& plan) : plan_(plan), best_(plan.strategies[plan.best]) {}

  void advise() {
    const double share = best_.exchange.total() / best_.step_seconds;
    say("use ", best_.name, ": its exchange is ", percent(share), " of a step");
    advise_on_connections();
    advise_on_compression(share);
    for (const StrategyPlan& other : plan_.strategies) advise_on(other);
    advise_on_model_parallel();
  }

 private:
  template <class... Parts>
  void say(const Parts&... parts) {
    plan_.advice.push_back(cat(parts...));
  }

  double gain(const StrategyPlan& other) const { return 1 - other.step_seconds / best_.step_seconds; }

  // Says how many connections between two trainers are enough.  Their number matters only if one connection
  // does not get the whole bandwidth of a link.
  void advise_on_connections() {
    ClusterParameters cluster = plan_.request.cluster;
    if (cluster.flow_bandwidth == 0) return;
    const auto step_with = [&](int64_t connections) {
      cluster.connections = connections;
      return plan_.request.compute_seconds +
             exchange_cost(best_.strategy.exchange, cluster, plan_.payload).total();
    };
    if (plan_.connections == 1)
      return say("one connection between each two trainers is enough for ", best_.name);
    const double saved = 1 - step_with(plan_.connections) / step_with(1);
    say("cluster.connections: ", plan_.connections, " makes a step of ", best_.name, " ", percent(saved),
        " shorter than one connection between each two trainers does; more gain nothing");
  }

  // DGC cannot gain more than the share that the exchange has of a step.  If that is small, this is the
  // reason to give; else DGC's own gain decides, which the time of its codec may eat up.
  void advise_on_compression(double share) {
    const auto dgc = std::find_if(plan_.strategies.begin(), plan_.strategies.end(), [](const auto& other) {
      return other.strategy.exchange == ExchangeKind::kDgc;
    });
    const double gained = gain(*dgc);
    if (share < kWorthwhileGain) {
      say("compression does not pay: without any exchange a step would be ", percent(share), " shorter");
    } else if (gained < kWorthwhileGain) {
      say("compression does not pay: dgc would make a step ", percent(std::fabs(gained)),
          gained < 0 ? " longer, " : " shorter, ", percent(dgc->exchange.codec / dgc->exchange.total()),
          " of its exchange being the codec");
    } else {
      say("compression pays here, if accuracy stays: dgc makes a step ", percent(gained), " shorter");
    }
  }

  // Mentions strategies that are worthwhile but are not like for like: local SGD trains in another way, and
  // exchanges that do not add in rank order give other bits.
  void advise_on(const StrategyPlan& other) {
    if (gain(other) < kWorthwhileGain || other.strategy.exchange == ExchangeKind::kDgc) return;
    if (other.strategy.period > 1) {
      say(other.name, " makes a step ", percent(gain(other)), " shorter, and trains in another way");
    } else if (!exchange_entry(other.strategy.exchange).rank_order) {
      say(other.name, " makes a step ", percent(gain(other)), " shorter, with other bits than servers give");
    }
  }

  void advise_on_model_parallel() {
    std::string names;
    for (const LayerPlan& layer : plan_.layers) {
      if (layer.model_parallel()) append(names, cat(names.empty() ? "" : ", ", layer.size.name));
    }
    if (!names.empty()) say("model parallel would exchange less than data parallel for ", names);
  }

  Plan& plan_;
  const StrategyPlan& best_;
};

// Plans every exchange after each step, then local SGD with the best dense exchange for each of the
// periods.  plan.best is that exchange, even if one with other bits is faster.
void plan_strategies(Plan& plan) {
  for (const ExchangeEntry& entry : exchange_catalog())
    plan.strategies.push_back(plan_strategy({entry.exchange, 1}, plan.request, plan.payload));
  const ExchangeKind best = best_dense(plan.request.cluster, plan.payload);
  for (size_t i = 0; i < plan.strategies.size(); ++i) {
    if (plan.strategies[i].strategy.exchange == best) plan.best = i;
  }
  for (int64_t period : plan.request.periods)
    plan.strategies.push_back(plan_strategy({best, period}, plan.request, plan.payload));
}

}  // namespace

StepBytes payload_of(const std::vector<LayerSize>& layers, double density) {
  constexpr double kPackedBytes = 6;  // a float and 16 bits of run length
  StepBytes payload;
  for (const LayerSize& layer : layers) {
    const double biases = static_cast<double>(layer.biases);
    const double others = static_cast<double>(layer.weights) - biases;
    payload.dense_bytes += kFloatBytes * (biases + others);
    payload.packed_bytes += kFloatBytes * biases + kPackedBytes * density * others;
  }
  return payload;
}

// The order matters: strategies need the payload, the number of connections needs the best strategy, and
// the advice needs everything else.
Plan make_plan(const PlanRequest& request) {
  Plan plan;
  plan.request = request;
  plan.payload = payload_of(request.layers, request.density);
  if (plan.payload.dense_bytes == 0)
    fail(Code::kUsage,
         "model.layers: no dense weights, and tables go through servers: there is nothing to plan");
  for (const LayerSize& size : request.layers) {
    plan.layers.push_back(plan_layer(size, request));
    plan.activation_bytes += plan.layers.back().activation_bytes;
  }
  plan_strategies(plan);
  plan.break_evens = {dgc_bandwidth(request, plan.payload, 0),
                      dgc_bandwidth(request, plan.payload, kWorthwhileGain),
                      encode_rate(request, plan.payload), enough_servers(request, plan.payload)};
  for (int64_t period : request.periods)
    plan.break_evens.push_back(local_sgd_bandwidth(request, plan.payload, period));
  plan.connections =
      enough_connections(plan.strategies[plan.best].strategy.exchange, request.cluster, plan.payload);
  Adviser(plan).advise();
  return plan;
}

}  // namespace ps
