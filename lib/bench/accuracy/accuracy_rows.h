// The rows of ps-bench accuracy: flat objects, one for each training.  Used by the program and the report of
// bench/accuracy.
#ifndef PS_BENCH_ACCURACY_ACCURACY_ROWS_H_
#define PS_BENCH_ACCURACY_ACCURACY_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/accuracy/trial_run.h"
#include "config/json.h"

namespace ps {

// Returns the name of a job for tables: "accuracy_mnist" for "share/jobs/accuracy_mnist.json".
std::string accuracy_job_name(const std::string& job);

Json accuracy_row(const AccuracyJob& job, const std::string& strategy, int64_t seed,
                  const TrialResult& result);

// Returns true if `row` is the row of the training with this strategy and seed in a run for `job`.
bool is_row_of(const Json& row, const AccuracyJob& job, const std::string& strategy, int64_t seed);

// The rows of a table: they have the same job and measure, and are ordered by strategy as in
// accuracy_trials(), then by seed.  If a training has several rows, only the first counts.
struct AccuracyTable {
  std::vector<Json> rows;
};
std::vector<AccuracyTable> accuracy_tables(const std::vector<Json>& rows);

}  // namespace ps

#endif  // PS_BENCH_ACCURACY_ACCURACY_ROWS_H_
