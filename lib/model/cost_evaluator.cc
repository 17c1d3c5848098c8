#include "model/cost_evaluator.h"

#include "base/error.h"
#include "base/text.h"
#include "math/device_kernels.h"

namespace ps {

// labelled_, rows_ <- the examples that have a label.
void CostEvaluator::find_labelled(const Batch& batch) {
  rows_.clear();
  labelled_.labels.clear();
  labelled_.weights.clear();
  labelled_.groups.clear();
  for (int64_t b = 0; b < batch.size(); ++b) {
    const std::optional<float> label = of_.labels->label(batch, b);
    if (!label) continue;
    const auto at = static_cast<size_t>(b);
    rows_.push_back(b);
    labelled_.labels.push_back(*label);
    if (!batch.weights.empty()) labelled_.weights.push_back(batch.weights[at]);
    if (!batch.groups.empty()) labelled_.groups.push_back(batch.groups[at]);
  }
}

// chosen_ <- the rows of `values` whose examples have a label.
void CostEvaluator::choose(Matrix<const float> values, const Batch& batch) {
  find_labelled(batch);
  chosen_.clear();
  for (int64_t b : rows_) chosen_.insert(chosen_.end(), values.row(b), values.row(b) + values.cols);
}

// columns_ <- the columns of the evaluator's own cost.  With labels of the cost's own, examples without one
// are left out.
void CostEvaluator::add(Matrix<const float> predictions, const Batch& batch) {
  columns_.clear();
  for (int64_t b = 0; b < predictions.rows; ++b) {
    const float* row = predictions.row(b) + of_.first;
    columns_.insert(columns_.end(), row, row + of_.cols);
  }
  const Matrix<const float> own{columns_.data(), predictions.rows, of_.cols};
  if (!of_.labels) return measure_->add(own, batch);
  choose(own, batch);
  measure_->add({chosen_.data(), labelled_.size(), of_.cols}, labelled_);
}

void CostEvaluator::add_log_losses(std::span<const float> losses, const Batch& batch) {
  if (!of_.labels) return measure_->add_log_losses(losses, batch);
  choose({losses.data(), std::ssize(losses), 1}, batch);
  measure_->add_log_losses(chosen_, labelled_);
}

// The rows of predictions that count are named to the device, and labels and weights of their examples go there.
void CostEvaluator::add_there(Device& device, const ExamplesThere& there, const Batch& batch) {
  ExamplesThere own = there;
  own.examples.predictions += of_.first;
  own.examples.cols = of_.cols;
  if (!of_.main) own.log_losses = nullptr;
  if (of_.labels) {
    find_labelled(batch);
    own.size = labelled_.size();
    if (own.size == 0) return;
    own.examples.rows = copy_there(device, rows_.data(), own.size);
    own.examples.labels = copy_there(device, labelled_.labels.data(), own.size);
    if (!labelled_.weights.empty())
      own.examples.weights = copy_there(device, labelled_.weights.data(), own.size);
  }
  measure_->add_there(device, own, of_.labels ? labelled_ : batch);
}

void CostEvaluator::merge(const Evaluator& other) {
  const auto* same = dynamic_cast<const CostEvaluator*>(&other);
  PS_CHECK(same != nullptr && same->prefix_ == prefix_);
  measure_->merge(*same->measure_);
}

std::vector<std::pair<std::string, double>> CostEvaluator::values() const {
  std::vector<std::pair<std::string, double>> values = measure_->values();
  for (auto& [name, value] : values) name = cat(prefix_, name);
  return values;
}

}  // namespace ps
