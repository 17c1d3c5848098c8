// Cost: the function that training minimises.  Used by Network, at the end of the graph.
#ifndef PS_MODEL_COST_H_
#define PS_MODEL_COST_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/fwd.h"
#include "data/batch.h"
#include "math/cost_kernels.h"
#include "math/device.h"
#include "math/matrix.h"

namespace ps {

// Properties of the layer that a cost measures, known when the network is built.
struct CostInput {
  int64_t cols;                 // values per example
  std::string_view activation;  // "softmax", "linear", …
  const DataSchema& schema;     // of the batches
};

template <class T>
class Cost {
 public:
  virtual ~Cost() = default;

  // costs[b] <- weight of example b x its cost; when gradient is wanted, gradient [B, C] <- d(sum of
  // costs)/d(scores).
  //   scores [B, C]: the input layer's output; before its activation when uses_logits()
  // All arrays but those of the batch are in the memory of the device; a cost only uses kernels that devices with
  // memory of their own have (AnyItems).
  // Throws kData when a label is impossible ("label 7.5 of example 12 is not a class of 10").
  virtual void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                        Matrix<T> gradient) const = 0;

  // Returns the sparse slot whose ids are the labels of an example, any number of them.  Without one, the label
  // is that of Batch::labels.
  virtual std::optional<size_t> label_slot() const { return std::nullopt; }

  // Throws kData when no example may have this label ("label 7.5 is not a class of 10").  Any thread.
  virtual void check_label(float label) const { (void)label; }

  // Computes predictions for evaluators and users: probabilities for classification, values for regression.
  //   output [B, C]: the input layer's output, after its activation  ->  predictions [B, C]
  virtual void predict(Matrix<const T> output, Device& device, std::span<float> predictions) const {
    copy_predictions(device, output, predictions.data());
  }

  // Returns true if the prediction is one value, the probability of label 1.
  virtual bool predicts_probability() const { return false; }

  // losses[b] <- -log of the probability that predict gives to the label of example b, without anything that
  // the cost adds to that.  It is computed from the scores and labels of evaluate, since a prediction that
  // rounds to 0 or 1 does not tell how small the probability is.  Returns false, and sets nothing, when the cost
  // takes no logits.
  virtual bool log_losses(Matrix<const T> scores, const Batch& batch, Device& device,
                          std::span<T> losses) const {
    (void)scores, (void)batch, (void)device, (void)losses;
    return false;
  }

  // Returns true if scores and gradient are those before the activation of the input layer.  The cost then
  // computes the activation itself, so that both together stay exact (softmax and cross_entropy), and the
  // gradient skips the activation.
  virtual bool uses_logits() const { return false; }
};

// Keys that every cost has; a cost's own options derive from these and include this spec.
struct CostOptions {
  std::string input;  // the layer that is measured
  std::string label;  // the slot that has the labels; empty: the labels of the examples
  double factor = 1;  // multiplies the cost

  static const ObjectSpec<CostOptions>& spec();
};

struct CostEntry : CatalogEntry {
  // `object` is without "type".  Throws kUsage, without a path, when the cost cannot take the input.
  std::unique_ptr<Cost<float>> (*make_float)(const Json& object, const CostInput& input);
  // Null unless kDoubles, base/reals.h.
  std::unique_ptr<Cost<double>> (*make_double)(const Json& object, const CostInput& input) = nullptr;
};

std::span<const CostEntry* const> cost_catalog();

}  // namespace ps

#endif  // PS_MODEL_COST_H_
