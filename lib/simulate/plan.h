// The plan of a cluster for a model: sizes of its layers, seconds of a step under each strategy, where one
// strategy overtakes another, and which to use.  Used by ps-bench plan.
#ifndef PS_SIMULATE_PLAN_H_
#define PS_SIMULATE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/network.h"
#include "simulate/simulator.h"

namespace ps {

struct PlanRequest {
  std::vector<LayerSize> layers;
  ClusterParameters cluster;
  int64_t batch = 1;                       // examples of a trainer and step
  double compute_seconds = 0;              // of a trainer and step
  double density = 0.001;                  // share of the weights that DGC sends
  std::vector<int64_t> periods = {4, 16};  // of local SGD
};

struct LayerPlan {
  LayerSize size;
  double weight_bytes = 0;  // |W|
  double activation_bytes =
      0;  // |D|: what it reads for the examples of all trainers; of conv2d, fc, gru, lstm and
          // attention alone

  // Seconds that the layer's exchange takes when each trainer has all of its weights (data) and exchanges
  // their gradients, or has part of its outputs (model) and exchanges what it reads.  The latter of fc alone.
  double data_seconds = 0;
  std::optional<double> model_seconds;

  bool model_parallel() const { return model_seconds && *model_seconds < data_seconds; }
};

struct StrategyPlan {
  std::string name, help;
  SimulatedStrategy strategy;
  ExchangeCost exchange;  // a step; of local SGD, its share
  double step_seconds = 0;
  double examples_per_second = 0;  // of all trainers
};

// A value at which one way overtakes another; nothing where it does nowhere within the range looked at, or
// everywhere (always).
struct BreakEven {
  std::string what, unit;
  std::optional<double> value;
  bool always = false;
};

struct Plan {
  PlanRequest request;
  StepBytes payload;
  double activation_bytes = 0;  // of all layers
  std::vector<LayerPlan> layers;
  std::vector<StrategyPlan> strategies;  // in the order of the catalogue, then local SGD
  std::vector<BreakEven> break_evens;
  std::vector<std::string> advice;  // sentences
  size_t best = 0;                  // in strategies: the fastest that gives the bits of servers
};

// A step that a compression or rarer exchange shortens by less than this share is not worth it.  Compression was
// faster than tuned synchronous SGD in 6 of more than 200 set-ups of data centres: Agarwal et al., "On the
// utility of gradient compression", MLSys 2022.
inline constexpr double kWorthwhileGain = 0.1;

// Throws kUsage when the model has no dense weights: there is nothing to plan.
Plan make_plan(const PlanRequest& request);

// The bytes that are exchanged each step.  DGC packs weights in tensors of more than one dimension, 6 bytes
// each of those it sends, and sends others whole: Lin et al., ICLR 2018.
StepBytes payload_of(const std::vector<LayerSize>& layers, double density);

}  // namespace ps

#endif  // PS_SIMULATE_PLAN_H_
