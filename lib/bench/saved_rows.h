// Rows that a suite has written into files, by --save or --json-stream: what a run that was cut off has measured is kept, and
// runs that shared the work become one table.  Used by suites whose rows take long.
#ifndef PS_BENCH_SAVED_ROWS_H_
#define PS_BENCH_SAVED_ROWS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine.h"
#include "cli/flags.h"
#include "config/fwd.h"

namespace ps {

struct SavedRows {
  // The machine of the measurements, with all processors by name; it is absent if there are no lines.
  std::optional<Machine> machine = {};
  std::vector<Json> rows = {};
};

// The rows of `suite` in all files, in order.  A last line that was cut off is left out.  Throws kUsage when a file cannot
// be opened, kCorrupt, with file and line, for a line that is no row of the suite.
SavedRows read_saved_rows(const std::vector<std::string>& files, std::string_view suite);

// --resume, for a suite that has row_output_flags().
Flag resume_flag();

// With --resume, the rows in the file of --save, and this machine beside those that they name; none when there is no such
// file yet.  Throws as read_saved_rows, and kUsage for --resume without --save.
SavedRows rows_to_resume(const Flags& flags, std::string_view suite);

}  // namespace ps

#endif  // PS_BENCH_SAVED_ROWS_H_
