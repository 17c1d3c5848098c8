#include "ps/server/finished_run.h"

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace ps {

std::string FinishedRun::path() const {
  return join_path(settings_.directory, "FINISHED");  // on disk
}

// file := passes "\n" | passes " " asked "\n"       passes <= asked
// The second form is that of a run that ended early.  A file that is not there says that no run has
// finished.
void FinishedRun::read() {
  constexpr uint64_t kMaxBytes = 100;
  passes_ = asked_ = 0;
  if (!exists(path())) return;
  const std::string text = read_file(path(), kMaxBytes);
  const bool is_line = text.ends_with('\n');  // else the file was cut, and its numbers may be wrong
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  const size_t space = line.find(' ');
  const std::optional<int64_t> passes = parse_int(line.substr(0, space));
  const std::optional<int64_t> asked =
      space == std::string_view::npos ? passes : parse_int(line.substr(space + 1));
  if (!is_line || !passes || *passes < 0 || !asked || *asked < *passes) {
    fail(Code::kCorrupt, path(), ": offset 0: ", quote(text), " is no number of passes");
  }
  passes_ = static_cast<uint64_t>(*passes);
  asked_ = static_cast<uint64_t>(*asked);
}

// An error is only logged: the run has ended all the same, and its checkpoint counts.
void FinishedRun::write(uint64_t passes, uint64_t asked) {
  passes_ = passes;
  asked_ = std::max(passes, asked);
  try {
    write_file(path(), asked_ > passes_ ? cat(passes_, " ", asked_, "\n") : cat(passes_, "\n"),
               *settings_.files);
  } catch (const Error& error) {
    if (settings_.log != nullptr) settings_.log->error(error.message());
  }
}

void FinishedRun::forget() {
  passes_ = asked_ = 0;
  settings_.files->remove(path());
}

}  // namespace ps
