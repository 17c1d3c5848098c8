// A sweep trains a job several times, with other values of keys or with other data for validation, and compares what the
// models are worth.  Used by ps-train.
#ifndef PS_JOB_SWEEP_H_
#define PS_JOB_SWEEP_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/json.h"

namespace ps {

// "optimizer.learning_rate=0.01,0.1": a key, and the values that it takes one after the other.
struct SweptKey {
  std::string key;
  std::vector<std::string> values;
};

// Values are JSON, or text where they are no JSON; commas within brackets, braces and quotes do not separate them.  Throws
// kUsage "--sweep: …".
SweptKey parse_swept_key(const std::string& text);

// One training of a sweep.
struct SweepRun {
  std::vector<std::pair<std::string, std::string>> values;  // keys with the values that they have
  int fold = 0;
};

// All combinations of values, the last key changing fastest, each with all folds.  Throws kUsage when there are more than
// 10,000, or a key comes twice.
std::vector<SweepRun> sweep_runs(std::span<const SweptKey> keys, int folds);

// The figures of one training: those of its best pass on the validation data; else of the test data after the last pass;
// else of the training data in the last pass.
struct SweepFigures {
  std::string data;  // "validation", "test" or "training"
  Json figures;      // {"cost": …, "evaluators": {…}}
};
SweepFigures sweep_figures(const Json& result);

// A row of the table: a combination of values, and its figures over all folds.
struct SweepRow {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<SweepFigures> folds;
  std::vector<std::string> models;  // folder of each fold's model
};

// {"by": …, "data": …, "runs": [{"set": {…}, "cost": …, "auc": …, "models": […]}, …], "best": index}, with the means over
// folds, and "deviation" beside them when there are several.  best is absent when no row has the measure `by`.  Throws
// kUsage for a measure that tells no better from worse.
Json sweep_result(std::span<const SweepRow> rows, const std::string& by);

// The result as a table: a line for each combination, the best one marked with *.
std::string sweep_table(const Json& result);

}  // namespace ps

#endif  // PS_JOB_SWEEP_H_
