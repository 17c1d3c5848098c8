#include "job/fill_from_data.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "job/open_values.h"

namespace ps {

namespace {

constexpr size_t kHeadBytes = size_t{1} << 20;  // bytes of standard input that are read first

// Returns the value at a dotted path, or null.
Json value_at(const Json& document, const std::string& path) {
  const Json* target = &document;
  for (std::string_view part : split(path, '.')) {
    const std::string key(part);
    if (target->is_array()) {
      target = &(*target)[parse_uint(part).value()];
    } else if (target->contains(key)) {
      target = &(*target)[key];
    } else {
      return {};
    }
  }
  return *target;
}

// "data.batch_size=128 train.passes=20"
std::string values_text(const Json& document, const std::vector<std::string>& paths) {
  std::vector<std::string> parts;
  for (const std::string& path : paths) {
    const Json value = value_at(document, path);
    if (value.is_null()) continue;
    if (value.is_object()) continue;  // columns are logged by say_columns
    const bool list = value.is_array();
    parts.push_back(list ? cat(path, " of ", value.size()) : cat(path, "=", value.dump()));
  }
  return join(parts, " ");
}

// "Columns: label 'income' of <=50K, >50K; numbers age, hours; categories job"
void say_columns(const CsvOptions& csv, Log& log) {
  std::vector<std::string> numbers, categories;
  for (const CsvColumn& column : csv.columns) {
    if (column.type == "ignore") continue;
    (column.type == "number" ? numbers : categories).push_back(column.name);
  }
  log.info(
      "Columns: ", csv.labels.empty() ? cat("label ", csv.label) : cat("labels ", join(csv.labels, ", ")),
      csv.classes.empty() ? "" : cat(" of ", join(csv.classes, ", ")),
      numbers.empty() ? "" : cat("; numbers ", join(numbers, ", ")),
      categories.empty() ? "" : cat("; categories ", join(categories, ", ")));
}

// Throws kUsage if names and words of the data cannot be in a job file, which is UTF-8.
void check_utf8(const Json& value, const std::string& path) {
  if (value.is_string() && !is_utf8(value.get_ref<const std::string&>())) {
    fail(Code::kUsage, path, ": ", quote(value.get<std::string>()),
         " of the data is not UTF-8, as a job file is: convert the data, as does iconv -f latin1 -t utf-8");
  }
  for (size_t i = 0; value.is_array() && i < value.size(); ++i) check_utf8(value[i], json_path(path, cat(i)));
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) check_utf8(member, json_path(path, key));
}

// Raises the largest keys to those of the test data, since lines with ids beyond the dim would be bad lines.
void add_largest_keys(const DataOptions& options, const LookSettings& settings, DataLook& look) {
  const DataLook test = look_at_data(options, options.test_files, settings);
  for (size_t s = 0; s < look.seen.size() && s < test.seen.size(); ++s)
    look.seen[s].largest_key = std::max(look.seen[s].largest_key, test.seen[s].largest_key);
}

}  // namespace

// Looks at the data with the options that are known, and fills in the open values from that.  Standard
// input can be read only once, so its first kHeadBytes are read here and returned, for the reader of the
// training to begin with.  Ids of the test data count for data.dim too; `options` gets the format and slots
// that were found, so that the look at the test data reads them in the same way.
InputHead fill_from_data(Json& document, int threads, Log& log) {
  const std::vector<std::string> open = open_values(document);
  DataOptions options = known_data_options(document);
  if (options.files.empty() && isatty(STDIN_FILENO) == 1) {
    fail(Code::kUsage, open.front(),
         ": auto: there are no data to look at: give --data FILE, or a pipe on standard ", "input");
  }
  const std::vector<std::string> files =
      options.files.empty() ? std::vector<std::string>{"-"} : options.files;
  LookSettings settings;
  settings.threads = threads;
  if (std::find(files.begin(), files.end(), "-") != files.end())
    settings.head = read_input_head(STDIN_FILENO, kHeadBytes);
  DataLook look = look_at_data(options, files, settings);
  if (!look.slots.empty()) {
    options.slots = look.slots;
    options.label_slot = look.label_slot;
  }
  options.format = look.format;
  if (look.csv) options.csv = *look.csv;
  if (!look.classes.empty()) options.fasttext.classes = look.classes;
  const bool needs_dim = std::find(open.begin(), open.end(), "data.dim") != open.end();
  if (needs_dim && !options.test_files.empty()) add_largest_keys(options, settings, look);
  const int64_t examples = look.examples;
  if (look.csv) say_columns(*look.csv, log);
  fill_in(document, look);
  check_utf8(document, "");
  log.info("Looked at ", look.whole ? "" : "the first of ",
           look.stream && !look.whole ? "" : cat(examples, " "), "examples of ", look.format, ": ",
           values_text(document, open));
  return settings.head;
}

}  // namespace ps
