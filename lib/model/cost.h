// Cost: what training makes small.  Used by Network, at the end of the graph.
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
  // Throws kData when a label is impossible ("label 7.5 of example 12 is not a class of 10").
  virtual void evaluate(Matrix<const T> scores, const Batch& batch, Device& device, std::span<T> costs,
                        Matrix<T> gradient) const = 0;

  // The sparse slot whose ids are the labels of an example, which has any number of them; none: it has the one of
  // Batch::labels.
  virtual std::optional<size_t> label_slot() const { return std::nullopt; }

  // Throws kData when no example may have this label ("label 7.5 is not a class of 10").  Any thread.
  virtual void check_label(float label) const { (void)label; }

  // Computes predictions for evaluators and users: probabilities for classification, values for regression.
  //   output [B, C]: the input layer's output, after its activation  ->  predictions [B, C]
  virtual void predict(Matrix<const T> output, Device& device, std::span<float> predictions) const {
    copy_predictions(device, output, predictions.data());
  }

  // losses[b] <- -log of the probability that predict gives to the label of example b, whatever the cost adds to that, from
  // the scores and labels of evaluate.  Predictions that round to 0 or 1 tell no more how small the probability is; scores
  // do.  Wherever evaluate runs, this runs on the device.  Returns false, and sets nothing, when the cost takes no logits.
  virtual bool log_losses(Matrix<const T> scores, const Batch& batch, Device& device,
                          std::span<T> losses) const {
    (void)scores, (void)batch, (void)device, (void)losses;
    return false;
  }

  // True when evaluate computes by kernels that devices with memory of their own have (AnyItems).  Its arrays are then in
  // the memory of the device; else the network gives it copies, and the processor.  Predictions always are there.
  virtual bool runs_on_devices() const { return false; }

  // True when scores and gradient are those before the activation of the input layer, which the cost takes on
  // itself so that the two together stay exact (softmax and cross_entropy).  The gradient then skips the
  // activation.
  virtual bool uses_logits() const { return false; }
};

// Keys that every cost has; a cost's own options derive from these and include this spec.
struct CostOptions {
  std::string input;  // the layer that is measured
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
