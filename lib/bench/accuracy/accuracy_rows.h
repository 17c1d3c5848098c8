// The rows of ps-bench accuracy: flat objects, one for each training.
#ifndef PS_BENCH_ACCURACY_ACCURACY_ROWS_H_
#define PS_BENCH_ACCURACY_ACCURACY_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/accuracy/trial_run.h"
#include "config/json.h"

namespace ps {

// "accuracy_mnist" of "share/jobs/accuracy_mnist.json".
std::string accuracy_job_name(const std::string& job);

Json accuracy_row(const AccuracyJob& job, const std::string& strategy, int64_t seed,
                  const TrialResult& result);

// Returns true if `row` is of the training of this job, with this strategy and seed, that a run for `job` would make.
bool is_row_of(const Json& row, const AccuracyJob& job, const std::string& strategy, int64_t seed);

// The rows of a table: all of one job and measure, by strategy in the order of accuracy_trials(), then by seed.  A training
// that has several rows counts once, by the first.
struct AccuracyTable {
  std::vector<Json> rows;
};
std::vector<AccuracyTable> accuracy_tables(const std::vector<Json>& rows);

}  // namespace ps

#endif  // PS_BENCH_ACCURACY_ACCURACY_ROWS_H_
