// Measures that are means over examples.  Used by the evaluators of this folder.
#ifndef PS_MODEL_EVALUATORS_WEIGHTED_MEAN_H_
#define PS_MODEL_EVALUATORS_WEIGHTED_MEAN_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/evaluator.h"
#include "model/evaluators/compensated_sum.h"

namespace ps {

// A measure that is computed from the sum of weight x term over the examples and the sum of the weights.  One
// owner thread.
class WeightedMean : public Evaluator {
 public:
  explicit WeightedMean(std::string name) : name_(std::move(name)) {}

  void add(Matrix<const float> predictions, const Batch& batch) override;
  void merge(const Evaluator& other) override;
  void reset() override { total_ = weight_ = {}; }
  std::vector<std::pair<std::string, double>> values() const override;
  void save(std::string& out) const override;
  void load(ByteReader& in) override;

 protected:
  // Adds a term for each example of the batch, instead of term().
  void add_terms(std::span<const float> terms, const Batch& batch);

  virtual double term(std::span<const float> prediction, float label) const = 0;

  // Returns the measure; the mean unless overridden.
  virtual double value(double total, double weight) const { return total / weight; }

 private:
  const std::string name_;
  CompensatedSum total_, weight_;
};

// The state of sums in checkpoints: sum:f64 lost:f64. load_weight throws kCorrupt for a value that cannot be
// a sum of weights.
void save_sum(const CompensatedSum& sum, std::string& out);
CompensatedSum load_sum(ByteReader& in);
CompensatedSum load_weight(ByteReader& in);

}  // namespace ps

#endif  // PS_MODEL_EVALUATORS_WEIGHTED_MEAN_H_
