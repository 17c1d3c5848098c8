// Writes the rows of ps-bench accuracy as a table for people, and as a document.  Used by
// bench/accuracy/program.cc.
#ifndef PS_BENCH_ACCURACY_REPORT_H_
#define PS_BENCH_ACCURACY_REPORT_H_

#include <string>
#include <vector>

#include "bench/machine.h"
#include "config/json.h"

namespace ps {

// Returns a table for each job.  `rows`, at least one, are rows of accuracy_rows.h in any order, one for each
// training.
std::string accuracy_report(const Machine& machine, const std::vector<Json>& rows, bool markdown);

// Returns the machine, the rows in the order of tables, and "summary": for each job and strategy the mean,
// lowest and highest value over the seeds, and the mean difference from the first strategy over the seeds
// that both have.
Json accuracy_document(const Machine& machine, const std::vector<Json>& rows);

}  // namespace ps

#endif  // PS_BENCH_ACCURACY_REPORT_H_
