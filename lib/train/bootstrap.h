// Bootstrap: intervals of the measures of a test, from replicas of its data that have each example as often as a
// Poisson law says.  Used by ps-train --job test --intervals.
//
// Efron, "Bootstrap methods: another look at the jackknife", 1979; counts of a Poisson law in place of a drawn sample:
// Chamandy et al., "Estimating uncertainty for massive data streams", 2012.
#ifndef PS_TRAIN_BOOTSTRAP_H_
#define PS_TRAIN_BOOTSTRAP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/fwd.h"
#include "data/batch.h"
#include "math/device.h"
#include "math/matrix.h"
#include "model/evaluator.h"

namespace ps {

// Returns how often an item counts in a replica, by the law of Poisson with mean 1.  The item is the place of an
// example in the data, or a group.
int poisson_count(uint64_t seed, int replica, uint64_t item);

struct Interval {
  std::string name;
  double low, high;  // NaN if the measure of a replica is undefined
};

// Keeps the predictions of all examples, and measures them again for each replica.  The counts depend on the seed and
// the places of examples alone, so that neither threads nor the sizes of batches change an interval, except for
// rounding.  Where examples have groups, whole groups are drawn, since examples of a group are not independent.  One
// owner thread.
class Bootstrap {
 public:
  using Evaluators = std::vector<std::unique_ptr<Evaluator>>;

  // Evaluators read labels in the slots `label_slots` too.
  explicit Bootstrap(uint64_t seed, std::vector<size_t> label_slots = {})
      : seed_(seed), label_slots_(std::move(label_slots)) {}

  // Takes the next batch of the data, with the values that Measures::add takes.  Throws kExhausted if all batches
  // together have more than 2^28 predictions.
  void add(Matrix<const float> predictions, std::span<const float> log_losses, const Batch& batch);

  // Returns, for each value of the evaluators that `make` makes, the quantiles 2.5 % and 97.5 % over the replicas.
  std::vector<Interval> intervals(const std::function<Evaluators()>& make, Device& device,
                                  int replicas = kReplicas) const;

  static constexpr int kReplicas = 500;

 private:
  // The predictions of a batch; slots other than those of labels are empty.
  struct Block {
    std::vector<float> predictions, log_losses;
    int64_t cols;
    Batch batch;
    uint64_t place;  // of its first example
  };

  std::vector<int> draw(const Block& block, int replica) const;
  void measure(int replica, const Evaluators& evaluators) const;

  const uint64_t seed_;
  const std::vector<size_t> label_slots_;
  uint64_t num_examples_ = 0;
  size_t num_predictions_ = 0;
  std::vector<Block> blocks_;
};

// Returns {"auc": [0.89, 0.91], ...}; undefined intervals are null.
Json intervals_json(const std::vector<Interval>& intervals);

}  // namespace ps

#endif  // PS_TRAIN_BOOTSTRAP_H_
