// ClassNames: the words that a model predicts, instead of numbers.  Used by Run.
#ifndef PS_JOB_CLASS_NAMES_H_
#define PS_JOB_CLASS_NAMES_H_

#include <span>
#include <string>
#include <vector>

#include "data/options.h"

namespace ps {

// Constant.
class ClassNames {
 public:
  // Takes the words that labels were when the model was trained, for rows of `cols` predictions.  Throws kUsage when labels
  // were numbers, or when the predictions are not of classes.
  ClassNames(const DataOptions& data, int64_t cols);

  // The word of the class that is the most probable, of the first of those that are equally so; with data.multi_label the
  // words above one half, joined by the separator of labels.
  void append(std::span<const float> predictions, std::string& out) const;

 private:
  std::vector<std::string> classes_;
  bool multi_label_;
  std::string separator_;
};

}  // namespace ps

#endif  // PS_JOB_CLASS_NAMES_H_
