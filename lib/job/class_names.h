// ClassNames: the words of the classes that a model predicts, instead of numbers.  Used by Run.
#ifndef PS_JOB_CLASS_NAMES_H_
#define PS_JOB_CLASS_NAMES_H_

#include <span>
#include <string>
#include <vector>

#include "data/options.h"

namespace ps {

// Constant after construction; any thread may use it.
class ClassNames {
 public:
  // Takes the words that labels were when the model was trained, for rows of `cols` predictions.  Throws kUsage
  // if labels were numbers, or if the predictions are not probabilities of the classes.
  ClassNames(const DataOptions& data, int64_t cols);

  // Appends the word of the most probable class; of equally probable ones, the first.  With data.multi_label,
  // appends all words with a probability above one half, joined by the separator of labels.
  void append(std::span<const float> predictions, std::string& out) const;

 private:
  std::vector<std::string> classes_;
  bool multi_label_;
  std::string separator_;
};

}  // namespace ps

#endif  // PS_JOB_CLASS_NAMES_H_
