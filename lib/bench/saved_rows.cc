#include "bench/saved_rows.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "config/json.h"

namespace ps {

namespace {

void add_name(std::string& names, const std::string& name) {
  if (names.empty()) {
    names = name;
  } else if (names.find(name) == std::string::npos) {
    names += " and " + name;
  }
}

// Adds the machine of one file to that of all files: the names of processors, programs and devices are joined,
// and the rest stays that of the first file, since tables name nothing else.
void add_machine(std::optional<Machine>& all, const Machine& machine) {
  if (!all) {
    all = machine;
    return;
  }
  add_name(all->processor, machine.processor);
  add_name(all->program, machine.program);
  add_name(all->device, machine.device);
}

// Adds a line of a file: that of a machine has the key "machine", and any other must be a row of the suite.
// Throws kCorrupt with `origin`, which says file and line.
void read_line(std::string_view line, const std::string& origin, std::string_view suite, SavedRows& saved) {
  Json json;
  try {
    json = parse_json(line, origin);
    if (json.contains("machine")) {
      add_machine(saved.machine, Machine::from_json(json.at("machine")));
      return;
    }
  } catch (const Error& error) {
    fail(Code::kCorrupt, error.what());
  } catch (const Json::exception&) {
    fail(Code::kCorrupt, origin, ": this is no line of ps-bench --json-stream");
  }
  if (!json.is_object() || json.value("suite", Json()) != suite)
    fail(Code::kCorrupt, origin, ": this is no result of ps-bench ", suite);
  saved.rows.push_back(std::move(json));
}

}  // namespace

// Only lines that end with a line feed count: a run that was killed may have written a part of the last
// one.
SavedRows read_saved_rows(const std::vector<std::string>& files, std::string_view suite) {
  SavedRows saved;
  for (const std::string& file : files) {
    const std::string text = read_file(file);
    int number = 0;
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      read_line(std::string_view(text).substr(begin, end - begin), cat(file, ":", ++number), suite, saved);
    }
  }
  return saved;
}

Flag resume_flag() {
  return {.name = "resume",
          .help = "keep the rows that the file of --save has, and measure the others",
          .group = "output"};
}

SavedRows rows_to_resume(const Flags& flags, std::string_view suite) {
  SavedRows saved;
  if (!flags.on("resume")) return saved;
  const std::optional<std::string> file = flags.text("save");
  if (!file) flags.refuse("resume", "needs --save FILE");
  if (exists(*file)) saved = read_saved_rows({*file}, suite);
  add_machine(saved.machine, this_machine());
  return saved;
}

}  // namespace ps
