// The rows of ps-bench accuracy as a table for people, and as a document.
#ifndef PS_BENCH_ACCURACY_REPORT_H_
#define PS_BENCH_ACCURACY_REPORT_H_

#include <string>
#include <vector>

#include "bench/machine.h"
#include "config/json.h"

namespace ps {

// `rows`, one at least, are those of accuracy_rows.h in any order: one for each training.  A table for each job.
std::string accuracy_report(const Machine& machine, const std::vector<Json>& rows, bool markdown);

// The machine, the rows in the order of tables, and for each job and strategy "summary": mean, lowest and highest over the
// seeds, and the mean difference from the first strategy over the seeds that both have.
Json accuracy_document(const Machine& machine, const std::vector<Json>& rows);

}  // namespace ps

#endif  // PS_BENCH_ACCURACY_REPORT_H_
