// Writes rows of measurements over links as tables for people.  Used by bench/link/program.h.
#ifndef PS_BENCH_LINK_REPORT_H_
#define PS_BENCH_LINK_REPORT_H_

#include <string>
#include <vector>

#include "bench/link/measurements.h"
#include "bench/machine.h"

namespace ps {

// `rows`, at least one, are all of one suite.  With `markdown` the tables are Markdown, else aligned columns.
std::string link_report(const Machine& machine, const std::vector<Json>& rows, bool markdown);

Json link_document(const Machine& machine, const std::vector<Json>& rows);

}  // namespace ps

#endif  // PS_BENCH_LINK_REPORT_H_
