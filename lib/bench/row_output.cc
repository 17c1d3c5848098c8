#include "bench/row_output.h"

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "config/json.h"

namespace ps {

namespace {

void print_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::vector<Flag> row_output_flags() {
  return {{.name = "json-stream",
           .help = "print the machine, then each result as it comes, as a line of JSON",
           .group = "output"},
          {.name = "save",
           .argument = "FILE",
           .help = "write the lines of --json-stream into FILE too, for share/plots/plot",
           .group = "output"},
          {.name = "markdown", .help = "print tables of Markdown", .group = "output"}};
}

// The file is written anew with each row, as a whole: the machine first, then the rows, those of earlier
// runs before the new ones.  So an interrupted run loses nothing but the row that it was measuring.
RowOutput::RowOutput(const Flags& flags, SavedRows known)
    : stream_(flags.on("json-stream")),
      document_(flags.on("json")),
      markdown_(flags.on("markdown")),
      file_(flags.text("save")),
      machine_(known.machine ? *std::move(known.machine) : this_machine()),
      rows_(std::move(known.rows)) {
  if (document_ && stream_) flags.refuse("json-stream", "give this or --json");
  if (markdown_ && (document_ || stream_)) flags.refuse("markdown", "give this, --json or --json-stream");
  if (file_ && exists(*file_) && !std::filesystem::is_regular_file(*file_))
    flags.refuse("save",
                 cat(quote(*file_), " is no file, which is written anew with each row: give --json-stream"));
  add_line({{"machine", machine_.json()}});
  for (const Json& row : rows_) add_line(row);
  save();
  if (stream_) print_text(lines_);
}

RowOutput::~RowOutput() = default;

void RowOutput::add(const std::vector<Json>& rows) {
  const size_t before = lines_.size();
  for (const Json& row : rows) add_line(row);
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  save();
  if (stream_) print_text(lines_.substr(before));
}

void RowOutput::end(const Document& document, const Report& report) const {
  if (stream_ || rows_.empty()) return;
  print_text(document_ ? document(machine_, rows_).dump(2) + "\n" : report(machine_, rows_, markdown_));
}

void RowOutput::add_line(const Json& object) {
  lines_ += object.dump() + "\n";
}

void RowOutput::save() const {
  if (file_) write_file(*file_, lines_);
}

}  // namespace ps
