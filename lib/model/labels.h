// The meaning of labels in classification.  Used by costs, evaluators and the layers that are costs.
#ifndef PS_MODEL_LABELS_H_
#define PS_MODEL_LABELS_H_

#include <cstdint>
#include <span>

#include "math/items/measure_items.h"

namespace ps {

// Labels are float, which holds every integer up to this one.
constexpr int64_t kMaxClasses = int64_t{1} << 24;

// Returns the class in [0, classes) of `label`, or -1.
inline int64_t class_of(float label, int64_t classes) {
  return label_class(label, classes);
}

// With two classes, label 1 is positive; 0 and -1 are not.
inline bool is_positive(float label) {
  return label > 0;
}

// Throw kData for a label that is no class ("label 7.5 is not a class of 10"), or none of -1, 0 and 1.
void check_class(float label, int64_t classes);
void check_binary(float label);

// Throw kData for the first label that is no class ("label 7.5 of example 12 is not a class of 10"), or is
// none of -1, 0 and 1.  Examples are counted from 0, in the batch.
void check_classes(std::span<const float> labels, int64_t classes);
void check_binary(std::span<const float> labels);

// Throws kData in the same way for examples that have any number of classes, the ids of a sparse slot: offsets
// [B + 1].
void check_label_sets(std::span<const uint32_t> offsets, std::span<const uint64_t> labels, int64_t classes);

}  // namespace ps

#endif  // PS_MODEL_LABELS_H_
