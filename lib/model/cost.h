// Cost: what training makes small.  Used by Network, at the end of the graph.
#ifndef PS_MODEL_COST_H_
#define PS_MODEL_COST_H_

#include <memory>
#include <span>

#include "base/thread_pool.h"
#include "config/catalog.h"
#include "data/batch.h"
#include "math/matrix.h"

namespace ps {

template <class T>
class Cost {
 public:
  virtual ~Cost() = default;

  // costs[b] <- weight of example b x its cost; when gradient is wanted, gradient [B, C] <- d(sum of costs)/d(scores).
  //   scores [B, C]: the input layer's output; before its activation when takes_logits() and the layer's activation
  //   is softmax, so that the two together stay exact.
  // Throws kData when a label is impossible ("label 7.5 of example 12 is not a class of 10").
  virtual void evaluate(Matrix<const T> scores, const Batch& batch, ThreadPool& pool, std::span<T> costs,
                        Matrix<T> gradient) const = 0;

  // What predictions and evaluators see: probabilities for classification, values for regression.
  //   output [B, C]: the input layer's output, after its activation  ->  predictions [B, C]
  virtual void predict(Matrix<const T> output, std::span<float> predictions) const = 0;

  virtual bool takes_logits() const { return false; }
};

struct CostEntry : CatalogEntry {
  // `cols` is the input layer's; throws kUsage when the cost cannot take it.
  std::unique_ptr<Cost<float>> (*make_float)(const Json& object, int64_t cols);
  std::unique_ptr<Cost<double>> (*make_double)(const Json& object, int64_t cols);
};

std::span<const CostEntry* const> cost_catalog();

}  // namespace ps

#endif  // PS_MODEL_COST_H_
