// RowOutput: writes the rows of a suite that is a program of its own to standard output and to a file, as a
// table, a document, or a stream of JSON.  Used by bench/link and bench/accuracy.
#ifndef PS_BENCH_ROW_OUTPUT_H_
#define PS_BENCH_ROW_OUTPUT_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/saved_rows.h"
#include "cli/flags.h"
#include "config/fwd.h"

namespace ps {

// Returns the flags --json-stream, --save and --markdown.  --json is a flag of all programs.
std::vector<Flag> row_output_flags();

// The rows of one run, and the places that they are written to.  One owner thread.
class RowOutput {
 public:
  // Begins with the rows `known`, which the file keeps at all times.  Refuses flags that exclude each other,
  // by kUsage.
  explicit RowOutput(const Flags& flags, SavedRows known = {});
  ~RowOutput();
  RowOutput(const RowOutput&) = delete;
  RowOutput& operator=(const RowOutput&) = delete;

  // Prints the rows if a stream is wanted, and writes them to the file.
  void add(const std::vector<Json>& rows);

  // Prints all rows as a document or as a text, if one of these is wanted.
  using Document = std::function<Json(const Machine& machine, const std::vector<Json>& rows)>;
  using Report =
      std::function<std::string(const Machine& machine, const std::vector<Json>& rows, bool markdown)>;
  void end(const Document& document, const Report& report) const;

 private:
  void add_line(const Json& object);
  void save() const;

  const bool stream_, document_, markdown_;
  const std::optional<std::string> file_;
  const Machine machine_;
  std::string lines_;
  std::vector<Json> rows_;
};

}  // namespace ps

#endif  // PS_BENCH_ROW_OUTPUT_H_
