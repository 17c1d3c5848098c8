// EarlyStopping: finds the best pass by the validation data, and decides when training ends because no pass is
// better any more.  Used by the run of a job.
#ifndef PS_TRAIN_EARLY_STOPPING_H_
#define PS_TRAIN_EARLY_STOPPING_H_

#include <optional>
#include <string>

#include "config/json.h"
#include "train/options.h"

namespace ps {

// One owner thread.
class EarlyStopping {
 public:
  // Uses `patience` and `best_by` of the options.  Throws kUsage for a measure of which it is unknown whether
  // larger values are better.
  explicit EarlyStopping(const TrainOptions& options);

  // Returns the value that decides, among the measures of a pass: "cost", and "evaluators" by name; nothing if
  // it is undefined.  Throws kUsage if the measure is missing.
  std::optional<double> figure(const Json& validation) const;

  // Adds a pass with this figure.  Returns true if the pass is the best so far; one without a figure is never
  // the best.
  bool add(int pass, std::optional<double> figure);
  bool add(int pass, const Json& validation) { return add(pass, figure(validation)); }

  // Returns what is known of the passes so far: {"pass": 4, "best_pass": 2, "best": 0.31}; and takes it from another
  // process, if that knows of later passes.  learn throws kData for anything else.
  Json known() const;
  void learn(const Json& known);

  // Returns true if the last `patience` passes were all not the best.
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
