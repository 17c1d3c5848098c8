#include "train/accumulated_computation.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "feed/cut_batch.h"

namespace ps {

// Runs forward and backward part by part.  The network keeps the activations of one part only, so backward
// of part `part` - 1 has to come before forward of part `part`.  Backward of part 0 sets the gradients, and
// each later one adds to them; that of the last part is left to finish_gradients.  Returns the sum of the
// costs.
double AccumulatedComputation::run(const PreparedBatch& prepared,
                                   std::span<const ParameterView<float>> views) {
  cut(prepared);
  predictions_.clear();
  log_losses_.clear();
  task_costs_.assign(network_.tasks().size(), 0);
  double cost = 0;
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (part > 0) network_.backward(nullptr, part == 1 ? Gradients::kSet : Gradients::kAdd);
    cost += forward(part, views);
  }
  return cost;
}

void AccumulatedComputation::finish_gradients(const PreparedBatch&, std::span<const ParameterView<float>>,
                                              const OnFinalGradient& on_final) {
  network_.backward(on_final, parts_.size() == 1 ? Gradients::kSet : Gradients::kAdd);
}

// Cuts the batch into parts.  Each part has a step number of its own, since its random numbers follow from that
// number.
void AccumulatedComputation::cut(const PreparedBatch& prepared) {
  const int64_t size = prepared.batch.size();
  cut_batch(network_, prepared, examples_, parts_);
  PS_CHECK(size > 0 && static_cast<int64_t>(parts_.size()) <= most_parts_);
  for (size_t part = 0; part < parts_.size(); ++part)
    parts_[part].step = prepared.step * most_parts_ + static_cast<int64_t>(part);
}

// Computes one part, and appends its predictions and losses to those of the parts before, in the order of
// the examples, so that evaluators see the whole batch.  The number in the error is that of the part.
double AccumulatedComputation::forward(size_t part, std::span<const ParameterView<float>> views) {
  double cost = 0;
  try {
    cost = network_.forward(parts_[part], views, device_);
  } catch (const Error& error) {
    throw error.within(cat("batch ", parts_[part].step));
  }
  for (size_t task = 0; task < task_costs_.size(); ++task)
    task_costs_[task] += network_.figures().task_costs[task];
  const Matrix<const float> predictions = network_.predictions();
  predictions_.insert(predictions_.end(), predictions.data, predictions.data + predictions.size());
  const std::span<const float> losses = network_.log_losses();
  log_losses_.insert(log_losses_.end(), losses.begin(), losses.end());
  return cost;
}

Matrix<const float> AccumulatedComputation::predictions() const {
  const int64_t cols = network_.prediction_cols();
  return {predictions_.data(), std::ssize(predictions_) / cols, cols};
}

}  // namespace ps
