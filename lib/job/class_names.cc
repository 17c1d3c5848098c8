#include "job/class_names.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ps {

namespace {

constexpr float kDecided = 0.5F;  // labels with a probability above it are predicted

}  // namespace

ClassNames::ClassNames(const DataOptions& data, int64_t cols)
    : classes_(data.csv.classes.empty() ? data.fasttext.classes : data.csv.classes),
      multi_label_(data.multi_label),
      separator_(data.csv.classes.empty() ? " " : data.csv.label_separator) {
  if (data.has_own_labels()) {
    fail(Code::kUsage, "--output-format names: this model predicts for several labels, ",
         join(data.csv.labels, ", "), ": numbers tell of all");
  }
  if (classes_.empty())
    fail(Code::kUsage,
         "--output-format names: this model has no names of classes, as its labels were numbers");
  const int64_t num_classes = static_cast<int64_t>(classes_.size());
  const bool of_two = cols == 1 && num_classes == 2 && !multi_label_;
  if (cols == num_classes || of_two) return;
  fail(Code::kUsage, "--output-format names: there are ", num_classes, " classes, but ", cols,
       " predictions an example, which are no probabilities of them");
}

// With several labels, appends all names with a probability above kDecided, which may be none.  With one
// label, appends the name of the largest prediction; a single prediction is the probability of the second
// of two classes.
void ClassNames::append(std::span<const float> predictions, std::string& out) const {
  if (multi_label_) {
    bool first = true;
    for (size_t c = 0; c < predictions.size(); ++c) {
      if (!(predictions[c] > kDecided)) continue;
      if (!first) out += separator_;
      out += classes_[c];
      first = false;
    }
    return;
  }
  const bool of_two = predictions.size() == 1 && classes_.size() == 2;
  const size_t best = of_two
                          ? (predictions[0] > kDecided ? 1 : 0)
                          : static_cast<size_t>(std::ranges::max_element(predictions) - predictions.begin());
  out += classes_[best];
}

}  // namespace ps
