#include "model/labels.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

void check_class(float label, int64_t classes) {
  if (class_of(label, classes) < 0) fail(Code::kData, "label ", label, " is not a class of ", classes);
}

void check_binary(float label) {
  if (label != 0 && label != 1 && label != -1) fail(Code::kData, "label ", label, " is not 0, 1 or -1");
}

void check_classes(std::span<const float> labels, int64_t classes) {
  for (size_t b = 0; b < labels.size(); ++b) {
    if (class_of(labels[b], classes) >= 0) continue;
    fail(Code::kData, "label ", labels[b], " of example ", b, " is not a class of ", classes);
  }
}

// The example of the wrong label is the last one that begins at or before its position: empty examples
// begin there too, but upper_bound goes past them.
void check_label_sets(std::span<const uint32_t> offsets, std::span<const uint64_t> labels, int64_t classes) {
  const auto wrong = std::find_if(labels.begin(), labels.end(),
                                  [&](uint64_t label) { return label >= static_cast<uint64_t>(classes); });
  if (wrong == labels.end()) return;
  const auto position = static_cast<uint32_t>(wrong - labels.begin());
  const auto next = std::upper_bound(offsets.begin(), offsets.end(), position);
  fail(Code::kData, "label ", *wrong, " of example ", next - offsets.begin() - 1, " is not a class of ",
       classes);
}

void check_binary(std::span<const float> labels) {
  for (size_t b = 0; b < labels.size(); ++b) {
    if (labels[b] == 0 || labels[b] == 1 || labels[b] == -1) continue;
    fail(Code::kData, "label ", labels[b], " of example ", b, " is not 0, 1 or -1");
  }
}

}  // namespace ps
