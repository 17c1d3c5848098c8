#include "data/csv/learn.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "data/csv/column_statistics.h"
#include "data/csv/columns.h"
#include "data/csv/splitter.h"
#include "data/format.h"

namespace ps {

namespace {

constexpr size_t kMostClasses = 10000;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string find_label(const CsvOptions& csv, const std::vector<std::string>& names) {
  if (!csv.label.empty()) {
    if (contains(names, csv.label)) return csv.label;
    fail(Code::kUsage, "data.csv.label: there is no column ", quote(csv.label),
         did_you_mean(csv.label, names));
  }
  static const std::vector<std::string> kUsual = {"label", "target", "class", "click", "y"};
  for (const std::string& name : names) {
    if (contains(kUsual, lower(name))) return name;
  }
  return names.back();
}

void check_names(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!name.empty() && !seen.insert(name).second)
      fail(Code::kData, "two columns are named ", quote(name), ": name them in data.csv.names");
  }
  if (seen.size() < 2) fail(Code::kData, "there is one column: separators are set by data.csv.separator");
}

// Lists the columns of the table in its order, with what the options say of them.
std::vector<CsvColumn> list_columns(const CsvOptions& csv, const std::vector<std::string>& names) {
  std::vector<CsvColumn> columns;
  for (const std::string& name : names) {
    if (name.empty() || name == csv.label || name == csv.weight || name == csv.group) continue;
    const auto given = std::find_if(csv.columns.begin(), csv.columns.end(),
                                    [&](const CsvColumn& column) { return column.name == name; });
    columns.push_back(given == csv.columns.end() ? CsvColumn{} : *given);
    columns.back().name = name;
  }
  for (const CsvColumn& column : csv.columns) {
    if (!contains(names, column.name))
      fail(Code::kUsage, "data.csv.columns: there is no column ", quote(column.name),
           did_you_mean(column.name, names));
  }
  return columns;
}

// Fills in a column's keys that are auto, and all that is learnt.
void fill_in(CsvColumn& column, const ColumnStatistics& seen) {
  if (column.type == "auto")
    column.type = seen.all_numbers() ? "number" : seen.is_text() ? "text" : "category";
  const bool number = column.type == "number";
  if (column.missing == "auto") column.missing = !number || seen.has_missing() ? "indicator" : "none";
  if (!number) {
    column.words = seen.frequent_words(static_cast<size_t>(column.dictionary));
    return;
  }
  if (column.scale == "auto") column.scale = seen.is_skewed() ? "log" : "standard";
  const Moments& moments = column.scale == "log" ? seen.logarithms() : seen.moments();
  if (column.scale == "standard" || column.scale == "log") {
    column.offset = moments.mean();
    column.divisor = moments.deviation();
  } else if (column.scale == "min_max") {
    column.offset = seen.smallest();
    column.divisor = seen.largest() - seen.smallest();
  } else if (column.scale == "bins") {
    column.edges = seen.edges(column.bins);
  }
  if (!(column.divisor > 0)) column.divisor = 1;  // all are equal
}

class Learner {
 public:
  Learner(const DataOptions& options, const SourceContext& context, int64_t most_records)
      : csv_(options.csv),
        dialect_(csv_dialect(options)),
        context_(context),
        fields_(dialect_),
        left_(most_records) {}

  void read(const InputFile& file) {
    ByteSource source(file, context_);
    CsvSplitter splitter(source, dialect_, csv_.names.empty());
    Block block;
    std::vector<std::string> names = csv_.names;
    while (left_ > 0 && splitter.next(block)) {
      if (csv_.names.empty()) names = header_names(block.carry, dialect_);
      if (statistics_.empty()) begin(names, *source.name());
      read(block.text(), names);
    }
  }

  bool enough() const { return left_ <= 0; }

  CsvOptions finish() {
    for (size_t i = 0; i < csv_.columns.size(); ++i)
      ps::fill_in(csv_.columns[i], statistics_.at(csv_.columns[i].name));
    fill_in_classes();
    csv_.learnt = true;
    return std::move(csv_);
  }

  bool empty() const { return statistics_.empty(); }

 private:
  void begin(const std::vector<std::string>& names, const std::string& file) {
    try {
      check_names(names);
      csv_.label = find_label(csv_, names);
      csv_.columns = list_columns(csv_, names);
    } catch (const Error& error) {
      throw error.code() == Code::kUsage ? error : error.within(file);
    }
    for (const CsvColumn& column : csv_.columns) {
      const bool several = column.type == "categories";
      statistics_.emplace(column.name,
                          ColumnStatistics(column.dictionary > 0, several ? column.separator[0] : '\0'));
    }
    statistics_.emplace(csv_.label, ColumnStatistics(/*counts_words=*/true));
  }

  void read(std::string_view text, const std::vector<std::string>& names) {
    std::vector<ColumnStatistics*> columns;
    for (const std::string& name : names) {
      const auto found = statistics_.find(name);
      columns.push_back(found == statistics_.end() ? nullptr : &found->second);
    }
    bool open = false;
    for (const char *p = text.data(), *stop = p + text.size(); p < stop && left_ > 0;) {
      const char* end = find_record_end(p, stop, dialect_, open);
      if (cut(p, end) && fields_.size() == columns.size()) take(columns);
      p = end + 1;
    }
  }

  // False for a record that is empty or no good.
  bool cut(const char* p, const char* end) {
    if (end > p && end[-1] == '\r') --end;
    try {
      if (end > p) fields_.cut(p, end);
      return end > p;
    } catch (const Error&) {
      return false;
    }
  }

  void take(const std::vector<ColumnStatistics*>& columns) {
    --left_;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == nullptr) continue;
      contains(csv_.missing_values, fields_[i]) ? columns[i]->add_missing() : columns[i]->add(fields_[i]);
    }
  }

  void fill_in_classes() {
    const ColumnStatistics& label = statistics_.at(csv_.label);
    if (!csv_.classes.empty() || label.all_numbers()) return;
    if (label.num_words() > kMostClasses) {
      fail(Code::kUsage, "data.csv.label: column ", quote(csv_.label), " has more than ", kMostClasses,
           " different words: name the column that is the label");
    }
    csv_.classes = label.frequent_words(kMostClasses);
    std::sort(csv_.classes.begin(), csv_.classes.end());
  }

  CsvOptions csv_;
  const CsvDialect dialect_;
  const SourceContext context_;
  CsvFields fields_;
  int64_t left_;
  std::map<std::string, ColumnStatistics> statistics_;  // by name
};

// Takes the first record off `text`, without its end.
std::string_view take_record(std::string_view& text, const CsvDialect& dialect) {
  bool open = false;
  const char* end = find_record_end(text.data(), text.data() + text.size(), dialect, open);
  std::string_view record = text.substr(0, static_cast<size_t>(end - text.data()));
  text.remove_prefix(std::min(record.size() + 1, text.size()));
  if (record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

bool is_header(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty() || parse_double(name) || !seen.insert(name).second) return false;
  }
  return names.size() > 1;
}

}  // namespace

std::optional<TableGuess> guess_table(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  for (const char separator : {',', '\t', ';', '|'}) {
    const CsvDialect dialect{separator, '"', 0};
    std::string_view rest = head;
    const std::string_view first = take_record(rest, dialect), second = take_record(rest, dialect);
    try {
      const std::vector<std::string> names = header_names(first, dialect);
      if (!is_header(names) || header_names(second, dialect).size() != names.size()) continue;
    } catch (const Error&) {  // quotes that are not closed
      continue;
    }
    const bool usual = separator == ',' || separator == '\t';
    return TableGuess{separator == '\t' ? "tsv" : "csv", usual ? std::string() : std::string(1, separator)};
  }
  return std::nullopt;
}

CsvOptions learn_table(const DataOptions& options, const std::vector<std::string>& paths,
                       const SourceContext& context, int64_t most_records, bool cut_short) {
  Learner learner(options, context, most_records);
  try {
    for (const InputFile& file : expand_inputs(paths)) {
      if (!learner.enough()) learner.read(file);
    }
  } catch (const Error& error) {
    const bool at_the_cut = error.code() == Code::kCorrupt || error.code() == Code::kData;
    if (!cut_short || !at_the_cut || learner.empty()) throw;
  }
  if (learner.empty()) fail(Code::kData, paths.front(), ": a table without a record");
  return learner.finish();
}

}  // namespace ps
