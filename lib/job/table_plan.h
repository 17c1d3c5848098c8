// The bytes of a job's tables before training, and after a pass over its data.  Used by ps-train --dry-run.
#ifndef PS_JOB_TABLE_PLAN_H_
#define PS_JOB_TABLE_PLAN_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/fwd.h"
#include "data/reader.h"
#include "job/job.h"
#include "model/network.h"

namespace ps {

// Returns an estimate of the number of different rows that a pass over the data looks up, by parameter; 0 for
// one that is not sparse.  Returns nullopt if `stop` returned true.  Throws the errors of the reader.
std::optional<std::vector<double>> count_rows_of_pass(const Network<float>& network, BatchReader& reader,
                                                      const std::function<bool()>& stop);

// Returns [{"table", "kind": "sparse" or "dense", "rows", "bytes", "rows_after_pass", "bytes_after_pass"}] for
// all parameters.  The bytes are those of weights and the optimizer's state, and for sparse parameters also the
// most that the index of a row takes.  `pass_rows` is the result of count_rows_of_pass; without it, the figures
// of sparse tables after a pass are null.
Json table_plan(const Job& job, const Network<float>& network,
                const std::optional<std::vector<double>>& pass_rows);
std::string table_plan_text(const Json& plan);

}  // namespace ps

#endif  // PS_JOB_TABLE_PLAN_H_
