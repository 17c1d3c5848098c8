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

void FinishedRun::read() {
  constexpr uint64_t kMaxBytes = 100;
  passes_ = 0;
  if (!exists(path())) return;
  const std::string text = read_file(path(), kMaxBytes);
  const bool is_line = text.ends_with('\n');  // else the file was cut, and its number may be wrong
  const std::optional<int64_t> passes = parse_int(std::string_view(text).substr(0, text.find('\n')));
  if (!is_line || !passes || *passes < 0) {
    fail(Code::kCorrupt, path(), ": offset 0: ", quote(text), " is no number of passes");
  }
  passes_ = static_cast<uint64_t>(*passes);
}

void FinishedRun::write(uint64_t passes) {
  passes_ = passes;
  try {
    write_file(path(), cat(passes_, "\n"), *settings_.files);
  } catch (const Error& error) {
    if (settings_.log != nullptr) settings_.log->error(error.message());
  }
}

void FinishedRun::forget() {
  passes_ = 0;
  settings_.files->remove(path());
}

}  // namespace ps
