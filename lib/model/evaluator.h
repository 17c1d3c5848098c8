// Evaluator: a measure of predictions over many batches, mergeable over trainers.  Used by the loop and its
// reports.
#ifndef PS_MODEL_EVALUATOR_H_
#define PS_MODEL_EVALUATOR_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "config/fwd.h"
#include "data/batch.h"
#include "math/device.h"
#include "math/items/measure_items.h"
#include "math/matrix.h"

namespace ps {

// Examples whose arrays are in the memory of a device that has its own.
struct ExamplesThere {
  MeasuredExamples examples;          // without sets of labels
  int64_t size = 0;                   // B
  const float* log_losses = nullptr;  // [rows] of predictions; null: there are none
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // predictions [B, C] as Cost::predict makes them; labels and weights of the batch.
  virtual void add(Matrix<const float> predictions, const Batch& batch) = 0;

  // Returns true if the measure is of log losses, which Cost::log_losses computes more exactly than predictions
  // do.  For models that have them, add_log_losses is called instead of add: losses [B].
  virtual bool wants_log_losses() const { return false; }
  virtual void add_log_losses(std::span<const float> losses, const Batch& batch) {
    (void)losses, (void)batch;
  }

  // Returns true if it takes examples that are on a device, by work that is queued there, and with the same values.
  // add_there then does what add does, or add_log_losses if there are any; the batch is the one that the device computes.
  virtual bool runs_there() const { return false; }
  virtual void add_there(Device& device, const ExamplesThere& there, const Batch& batch) {
    (void)device, (void)there, (void)batch;
    PS_CHECK(runs_there());
  }

  // Called before the first add if the labels of an example are the ids of this slot, any number of them.
  // Returns false if the measure needs exactly one label for an example.
  virtual bool use_label_sets(size_t slot) {
    (void)slot;
    return false;
  }

  // Adds the examples of another evaluator of the same entry.  The value depends on the set of examples alone,
  // to rounding.
  virtual void merge(const Evaluator& other) = 0;
  virtual void reset() = 0;

  // Names and values, mostly one ("auc", 0.79); NaN when undefined (no examples, one class).
  virtual std::vector<std::pair<std::string, double>> values() const = 0;

  // All state, for merging over a network and for checkpoints.
  virtual void save(std::string& out) const = 0;
  virtual void load(ByteReader& in) = 0;  // throws kCorrupt
};

struct EvaluatorEntry : CatalogEntry {
  // `object` is without "type"; `cols` are the predictions' per example.  Throws kUsage, without a path, when
  // the evaluator cannot take so many.
  std::unique_ptr<Evaluator> (*make)(const Json& object, int64_t cols);
};

std::span<const EvaluatorEntry* const> evaluator_catalog();

}  // namespace ps

#endif  // PS_MODEL_EVALUATOR_H_
