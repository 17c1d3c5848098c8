// A sweep trains a job several times, with other values of keys or with other data for validation, and compares what the
// models are worth.  Used by ps-train.
#ifndef PS_JOB_TUNING_SWEEP_H_
#define PS_JOB_TUNING_SWEEP_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/json.h"

namespace ps {

// The numbers from which a sweep draws the values of a key.
struct SweptRange {
  enum class Scale {
    kLinear,   // all numbers are equally likely
    kLog,      // all logarithms are
    kInteger,  // whole numbers, both ends included
  };

  Scale scale;
  double low, high;  // low <= high

  // The value at `share` in [0, 1) of the range, as text of at most 6 digits, but all of them for whole numbers.
  std::string at(double share) const;
};

// "optimizer.learning_rate=0.01,0.1": a key, and the values that it takes one after the other, or the range that they are
// drawn from.
struct SweptKey {
  std::string key;
  std::vector<std::string> values;
  std::optional<SweptRange> range;  // then there are no values
};

// Values are JSON, or text where they are no JSON; commas within brackets, braces and quotes do not separate them.  A single
// value "log:1e-4..1e-1", "linear:0..1" or "int:1..10" is a range.  Throws kUsage "--sweep: …".
SweptKey parse_swept_key(const std::string& text);

// One training of a sweep.
struct SweepRun {
  std::vector<std::pair<std::string, std::string>> values;  // keys with the values that they have
  int fold = 0;
};

// All combinations of values, the last key changing fastest, each with all folds.  Throws kUsage when there are more than
// 10,000, or a key comes twice.
std::vector<SweepRun> sweep_runs(std::span<const SweptKey> keys, int folds);

// So many combinations, each with all folds.  The value of each key is drawn by itself, from its range or its values, by the
// hash of seed, key and number of the combination: more combinations begin with the same ones.  Throws kUsage for a key
// that comes twice.
std::vector<SweepRun> sampled_runs(std::span<const SweptKey> keys, int64_t combinations, uint64_t seed,
                                   int folds);

// One round of successive halving (Jamieson and Talwalkar, AISTATS 2016): so many combinations are trained for so many
// passes.
struct HalvingRound {
  size_t combinations;
  int64_t passes;
};

// The rounds for so many combinations and passes: in each, half of the combinations of the round before, rounded up, are
// trained for twice the passes.  The last round has all passes, the first one at least one.  Throws kUsage when there
// would be a single round.
std::vector<HalvingRound> halving_rounds(size_t combinations, int64_t passes);

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
  int64_t passes = 0;               // that it was trained for, where these differ from row to row
};

// The rows in the order from best to worst by their mean of the measure `by`; those without it come last, and ties stay in
// their order.  Throws kUsage as sweep_result does.
std::vector<size_t> rank_rows(std::span<const SweepRow> rows, const std::string& by);

// {"by": …, "data": …, "runs": [{"set": {…}, "cost": …, "auc": …, "models": […]}, …], "best": index}, with the means over
// folds, and "deviation" beside them when there are several.  best is one of the rows with most passes, and absent when
// none of them has the measure `by`.  Throws kUsage for a measure that tells no better from worse.
Json sweep_result(std::span<const SweepRow> rows, const std::string& by);

// The result as a table: a line for each combination, the best one marked with *.
std::string sweep_table(const Json& result);

}  // namespace ps

#endif  // PS_JOB_TUNING_SWEEP_H_
