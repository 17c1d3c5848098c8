// Measures: the costs of a number of batches, and the values of the evaluators for them.  Used by Trainer and
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

// The sum of the costs of examples times their weights, and the sum of these weights: of the examples that have a
// label of one task.
struct TaskTotals {
  double weight = 0, cost = 0;

  // Takes the mean over the weights, as evaluators take their means.  Without examples, it is 0.
  double mean() const { return weight > 0 ? cost / weight : 0; }
  TaskTotals& operator+=(const TaskTotals& other);
};

// The number of examples, and the totals of each task of the network.
struct CostTotals {
  int64_t samples = 0;
  std::vector<TaskTotals> tasks;

  // Returns the sum of the means of all tasks that have a weight: 0 without examples, and NaN, which is undefined, if all
  // examples together have the weight 0.
  double mean() const;
  CostTotals& operator+=(const CostTotals& other);  // of the same network
};

// One owner thread.  The network outlives it.
//
// The cost is the sum over the tasks of the mean over the examples that have a label of the task.  When there are
// several tasks, each of these means is a value too, "click.cost", before those of the evaluators.
class Measures {
 public:
  explicit Measures(const Network<float>& network)
      : tasks_(&network.tasks()), evaluators_(network.make_evaluators()) {
    totals_.tasks.resize(tasks_->size());
  }

  void add(const BatchFigures& figures, const Batch& batch);

  // Adds the measures of another object of the same network.
  void merge(const Measures& other);
  void reset();

  // Write and read the state, which another process can merge. load throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

  int64_t samples() const { return totals_.samples; }
  double average_cost() const { return totals_.mean(); }
  const CostTotals& totals() const { return totals_; }
  std::vector<std::pair<std::string, double>> values() const;

  // "auc=0.79 classification_error=0.15"
  std::string text() const;

  // {"auc": 0.79, …}; undefined values are null.
  Json json() const;

 private:
  const std::vector<CostTask>* tasks_;
  CostTotals totals_;
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
};

}  // namespace ps

#endif  // PS_TRAIN_MEASURES_H_
