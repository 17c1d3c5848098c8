// Measures: the cost of a number of batches, and the values of the evaluators for them.  Used by Trainer and
// TrainerProgress.
#ifndef PS_TRAIN_MEASURES_H_
#define PS_TRAIN_MEASURES_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/fwd.h"
#include "model/evaluator.h"
#include "model/network.h"

namespace ps {

// The cost of examples times their weights, the number of examples, and the sum of their weights.
struct CostTotals {
  int64_t samples = 0;
  double weight = 0, cost = 0;
};

// One owner thread.
class Measures {
 public:
  explicit Measures(std::vector<std::unique_ptr<Evaluator>> evaluators)
      : evaluators_(std::move(evaluators)) {}

  // log_losses [B], or empty if the model has none.
  void add(double cost, Matrix<const float> predictions, std::span<const float> log_losses,
           const Batch& batch);

  // Adds the measures of another object with the same evaluators.
  void merge(const Measures& other);
  void reset();

  // Write and read the state, which another process can merge. load throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

  int64_t samples() const { return samples_; }
  // The mean over the weights of the examples, as evaluators take their means.
  double average_cost() const { return weight_ > 0 ? cost_ / weight_ : 0; }
  CostTotals totals() const { return {samples_, weight_, cost_}; }
  std::vector<std::pair<std::string, double>> values() const;

  // "auc=0.79 classification_error=0.15"
  std::string text() const;

  // {"auc": 0.79, …}; undefined values are null.
  Json json() const;

 private:
  int64_t samples_ = 0;
  double weight_ = 0;  // sum of the weights; without weights, the number of examples
  double cost_ = 0;
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
};

}  // namespace ps

#endif  // PS_TRAIN_MEASURES_H_
