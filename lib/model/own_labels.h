// OwnLabels: the labels of a cost that reads them from a slot of its own, so that several costs of a model have different
// labels.  Used by the network, and by the evaluators of such a cost.
#ifndef PS_MODEL_OWN_LABELS_H_
#define PS_MODEL_OWN_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "data/batch.h"

namespace ps {

// Constant after construction; any thread may use it.
//
// The label of an example is the value of a dense slot, the value of the only id of a sparse slot of dim 1, or the only id
// of any other sparse slot.  An example without an id has no label.
class OwnLabels {
 public:
  // Throws kUsage "label: …" if there is no such slot, or if it has several values.
  OwnLabels(const std::string& name, const DataSchema& schema);

  size_t slot() const { return slot_; }

  // Returns the label of an example, or nothing.  Throws kData if it has several.
  std::optional<float> label(const Batch& batch, int64_t example) const;

  // Replaces `out` by the examples with these labels, weights and groups, and without slots.  An example that has no label
  // gets the label 0, the weight 0, and a group of its own, so that it adds nothing to a cost.
  void for_cost(const Batch& batch, Batch& out) const;

 private:
  enum class Kind { kDense, kValue, kId };

  const std::string name_;
  size_t slot_ = 0;
  Kind kind_ = Kind::kDense;
};

}  // namespace ps

#endif  // PS_MODEL_OWN_LABELS_H_
