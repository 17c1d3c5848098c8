// Rows that a suite has written into files, by --save or --json-stream.  The rows of a run that was
// interrupted are kept, and the rows of runs that shared the work become one table.  Used by suites whose
// rows take long.
#ifndef PS_BENCH_SAVED_ROWS_H_
#define PS_BENCH_SAVED_ROWS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine.h"
#include "cli/flags.h"
#include "config/json.h"

namespace ps {

struct SavedRows {
  // The machine of the measurements, with the names of all processors; it is absent if there are no lines.
  std::optional<Machine> machine = {};
  std::vector<Json> rows = {};
};

// Returns the rows of `suite` in all files, in order.  An incomplete last line is ignored.  Throws kUsage
// when a file cannot be opened, kCorrupt, with file and line, for a line that is no row of the suite.
SavedRows read_saved_rows(const std::vector<std::string>& files, std::string_view suite);

// Returns the flag --resume, for a suite that has row_output_flags().
Flag resume_flag();

// With --resume, returns the rows in the file of --save, and adds this machine to those that the file names;
// returns no rows when there is no such file yet.  Throws as read_saved_rows does, and kUsage for --resume
// without --save.
SavedRows rows_to_resume(const Flags& flags, std::string_view suite);

}  // namespace ps

#endif  // PS_BENCH_SAVED_ROWS_H_
