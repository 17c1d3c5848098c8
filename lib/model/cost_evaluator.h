// CostEvaluator: measures the predictions of one cost of a network that predicts for several.  Used by Network.
#ifndef PS_MODEL_COST_EVALUATOR_H_
#define PS_MODEL_COST_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/evaluator.h"
#include "model/own_labels.h"

namespace ps {

// The part of a network's predictions that is that of one cost.
struct CostPredictions {
  int64_t first = 0, cols = 1;      // its columns
  std::optional<OwnLabels> labels;  // nullopt: the labels of the batch
  bool main = true;                 // log losses are those of this cost
};

// Gives another evaluator the columns of one cost, and the examples that have a label for it.  One owner thread.
class CostEvaluator final : public Evaluator {
 public:
  // Names of values begin with `prefix`, which may be empty.
  CostEvaluator(std::unique_ptr<Evaluator> measure, const CostPredictions& of, std::string prefix)
      : measure_(std::move(measure)), of_(of), prefix_(std::move(prefix)) {}

  void add(Matrix<const float> predictions, const Batch& batch) override;
  bool wants_log_losses() const override { return of_.main && measure_->wants_log_losses(); }
  void add_log_losses(std::span<const float> losses, const Batch& batch) override;
  bool use_label_sets(size_t slot) override { return measure_->use_label_sets(slot); }
  bool runs_there() const override { return measure_->runs_there(); }
  void add_there(Device& device, const ExamplesThere& there, const Batch& batch) override;
  void merge(const Evaluator& other) override;
  void reset() override { measure_->reset(); }
  std::vector<std::pair<std::string, double>> values() const override;
  void save(std::string& out) const override { measure_->save(out); }
  void load(ByteReader& in) override { measure_->load(in); }

 private:
  void find_labelled(const Batch& batch);
  void choose(Matrix<const float> values, const Batch& batch);

  const std::unique_ptr<Evaluator> measure_;
  const CostPredictions of_;
  const std::string prefix_;
  std::vector<float> columns_;  // of all examples
  std::vector<float> chosen_;   // of the examples that have a label
  Batch labelled_;              // these examples
  std::vector<int64_t> rows_;   // their positions in the batch
};

}  // namespace ps

#endif  // PS_MODEL_COST_EVALUATOR_H_
