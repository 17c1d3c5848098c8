// EarlyStopping: tells the best pass by the validation data, and when training is over since it gets no better.  Used by
// the run of a job.
#ifndef PS_TRAIN_EARLY_STOPPING_H_
#define PS_TRAIN_EARLY_STOPPING_H_

#include <optional>
#include <string>

#include "config/json.h"
#include "train/options.h"

namespace ps {

// Owner thread only.
class EarlyStopping {
 public:
  // `patience` and `best_by` of the options count.  Throws kUsage for a measure of which nobody can say if more or less
  // of it is better.
  explicit EarlyStopping(const TrainOptions& options);

  // Takes in what was measured after a pass: "cost", and "evaluators" by name.  Returns true if it is the best so far.  A
  // value that is undefined is never the best.  Throws kUsage when the measure is not there.
  bool add(int pass, const Json& validation);

  // True when so many passes as `patience` in a row were not the best.
  bool stops() const { return patience_ && pass_ - best_pass_ >= *patience_; }

  int best_pass() const { return best_pass_; }  // -1: none yet
  double best() const { return best_; }
  const std::string& measure() const { return measure_; }

 private:
  const std::optional<int> patience_;
  const std::string measure_;
  const bool larger_is_better_;
  int pass_ = -1, best_pass_ = -1;
  double best_ = 0;
};

}  // namespace ps

#endif  // PS_TRAIN_EARLY_STOPPING_H_
