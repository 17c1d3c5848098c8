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
  int64_t batch = 1;                       // examples that a trainer has in a step
  double compute_seconds = 0;              // seconds that a trainer computes in a step
  double density = 0.001;                  // share of the weights that DGC sends
  std::vector<int64_t> periods = {4, 16};  // steps between exchanges of local SGD
};

struct LayerPlan {
  LayerSize size;
  double weight_bytes = 0;  // |W|
  // |D|: the bytes of the layer's input for the examples of all trainers.  Only conv2d, fc, gru, lstm and
  // attention have it.
  double activation_bytes = 0;

  // Seconds that the layer's exchange takes when each trainer has all of its weights (data) and exchanges their
  // gradients, or has part of its outputs (model) and exchanges what it reads.  Only fc has the latter.
  double data_seconds = 0;
  std::optional<double> model_seconds;

  bool model_parallel() const { return model_seconds && *model_seconds < data_seconds; }
};

struct StrategyPlan {
  std::string name, help;
  SimulatedStrategy strategy;
  ExchangeCost exchange;  // the cost of a step; for local SGD, the step's share of an exchange
  double step_seconds = 0;
  double examples_per_second = 0;  // examples of all trainers in a second
};

// A value at which one way overtakes another.  It is absent if there is none within the range that was searched:
// the way is then better everywhere (`always`) or nowhere.
struct BreakEven {
  std::string what, unit;
  std::optional<double> value;
  bool always = false;
};

struct Plan {
  PlanRequest request;
  StepBytes payload;
  double activation_bytes = 0;  // sum over all layers
  std::vector<LayerPlan> layers;
  std::vector<StrategyPlan> strategies;  // in the order of the catalogue, then local SGD
  std::vector<BreakEven> break_evens;
  std::vector<std::string> advice;  // sentences
  int64_t connections = 1;          // between each two trainers, that are enough for the best strategy
  size_t best = 0;                  // index of the fastest strategy with the bits of servers
};

// A step that a compression or rarer exchange shortens by less than this share is not worth it.  Compression was
// faster than tuned synchronous SGD in 6 of more than 200 set-ups of data centres: Agarwal et al., "On the
// utility of gradient compression", MLSys 2022.
inline constexpr double kWorthwhileGain = 0.1;

// Throws kUsage when the model has no dense weights, since there is nothing to plan then.
Plan make_plan(const PlanRequest& request);

// Returns the bytes that are exchanged each step.  DGC compresses tensors of more than one dimension, and sends
// 6 bytes for each value that it selects; it sends other tensors whole (Lin et al., ICLR 2018).
StepBytes payload_of(const std::vector<LayerSize>& layers, double density);

}  // namespace ps

#endif  // PS_SIMULATE_PLAN_H_
