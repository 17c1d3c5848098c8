// The bytes that a job's tables take before it trains, and after a pass over its data.  Used by ps-train --dry-run.
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

// About how many different rows of each parameter a pass over the data looks up, by parameter; nothing for one that is
// not sparse.  nullopt when `stop` said so.  Throws what the reader throws.
std::optional<std::vector<double>> count_rows_of_pass(const Network<float>& network, BatchReader& reader,
                                                      const std::function<bool()>& stop);

// [{"table", "kind": "sparse" or "dense", "rows", "bytes", "rows_after_pass", "bytes_after_pass"}] of all parameters:
// weights and the optimizer's state, and of sparse ones the most that the index of a row takes.  `pass_rows` is what
// count_rows_of_pass gave; without it, what sparse tables will be is null.
Json table_plan(const Job& job, const Network<float>& network,
                const std::optional<std::vector<double>>& pass_rows);
std::string table_plan_text(const Json& plan);

}  // namespace ps

#endif  // PS_JOB_TABLE_PLAN_H_
