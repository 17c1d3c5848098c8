// A sweep trains a job several times, with different values of keys or different data for validation, and
// compares the quality of the models.  Used by ps-train.
#ifndef PS_JOB_TUNING_SWEEP_H_
#define PS_JOB_TUNING_SWEEP_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/json.h"

namespace ps {

// The range from which a sweep draws the values of a key.
struct SweptRange {
  enum class Scale {
    kLinear,   // all numbers are equally likely
    kLog,      // all logarithms are equally likely
    kInteger,  // whole numbers, both ends included
  };

  Scale scale;
  double low, high;  // low <= high

  // Returns the value at `share` in [0, 1) of the range, as text of at most 6 digits; whole numbers have all
  // their digits.
  std::string at(double share) const;
};

// "optimizer.learning_rate=0.01,0.1": a key, and the values that it takes one after the other, or the range
// from which they are drawn.
struct SweptKey {
  std::string key;
  std::vector<std::string> values;
  std::optional<SweptRange> range;  // if set, there are no values
};

// Values are JSON, or text if they are not valid JSON; commas within brackets, braces and quotes do not
// separate them.  A single value "log:1e-4..1e-1", "linear:0..1" or "int:1..10" is a range.  Throws kUsage
// "--sweep: …".
SweptKey parse_swept_key(const std::string& text);

// One training of a sweep.
struct SweepRun {
  std::vector<std::pair<std::string, std::string>> values;  // keys and their values
  int fold = 0;
};

// Returns all combinations of values, the last key changing fastest, each with all folds.  Throws kUsage if
// there are more than 10,000, or if a key comes twice.
std::vector<SweepRun> sweep_runs(std::span<const SweptKey> keys, int folds);

// Returns this many combinations, each with all folds.  The value of each key is drawn independently, from its
// range or its values, by the hash of seed, key and number of the combination; so a larger number of
// combinations begins with the same ones.  Throws kUsage for a key that comes twice.
std::vector<SweepRun> sampled_runs(std::span<const SweptKey> keys, int64_t combinations, uint64_t seed,
                                   int folds);

// One round of successive halving (Jamieson and Talwalkar, AISTATS 2016): how many combinations are trained,
// and for how many passes.
struct HalvingRound {
  size_t combinations;
  int64_t passes;
};

// Returns the rounds for this number of combinations and passes.  In each round, half of the combinations of
// the round before, rounded up, are trained for twice the passes.  The last round has all passes, the first one
// at least one.  Throws kUsage if there would be a single round.
std::vector<HalvingRound> halving_rounds(size_t combinations, int64_t passes);

// The figures of one training: those of its best pass on the validation data; without validation, those of the
// test data after the last pass; without test data, those of the training data in the last pass.
struct SweepFigures {
  std::string data;  // "validation", "test" or "training"
  Json figures;      // {"cost": …, "evaluators": {…}}
};
SweepFigures sweep_figures(const Json& result);

// Returns the same figures, all undefined: those of a training that has diverged.
SweepFigures undefined_figures(const SweepFigures& defined);

// A row of the table: a combination of values, and its figures for all folds.
struct SweepRow {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<SweepFigures> folds;
  std::vector<std::string> models;  // folder of each fold's model
  int64_t passes = 0;     // number of passes that it was trained for, if rows differ in that; else 0
  bool diverged = false;  // a training has diverged: the figures are undefined
};

// Returns the rows in the order from best to worst by their mean of the measure `by`.  Rows without it come
// last, and ties stay in their order.  Throws kUsage as sweep_result does.
std::vector<size_t> rank_rows(std::span<const SweepRow> rows, const std::string& by);

// Returns {"by": …, "data": …, "runs": [{"set": {…}, "cost": …, "auc": …, "models": […]}, …], "best": index},
// with the means over folds, and "deviation" beside them if there are several. best is one of the rows with
// most passes, and is absent if none of them has the measure `by`.  Throws kUsage for a measure of which it is
// unknown whether larger values are better.
Json sweep_result(std::span<const SweepRow> rows, const std::string& by);

// Returns the result as a table: a line for each combination, with the best one marked with *.
std::string sweep_table(const Json& result);

}  // namespace ps

#endif  // PS_JOB_TUNING_SWEEP_H_
