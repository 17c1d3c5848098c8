#include "data/csv/table_columns.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/pattern.h"
#include "base/text.h"
#include "data/csv/columns.h"
#include "data/csv/label_columns.h"

namespace ps {

namespace {

constexpr size_t kMostClasses = 10000;
constexpr size_t kMostColumns = 10000;
constexpr size_t kMostWordBytes = size_t{1} << 20;  // of the words that are listed, of all columns
constexpr int64_t kLeastOfBin = 20;                 // examples: as a leaf of LightGBM's trees has by default

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_usual_label(const std::string& name) {
  static const std::vector<std::string> kUsual = {"label", "target", "class", "click", "y"};
  return contains(kUsual, lower(name));
}

void check_names(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!name.empty() && !seen.insert(name).second)
      fail(Code::kData, "two columns are named ", quote(name), ": name them in data.csv.names");
  }
  if (seen.size() < 2) fail(Code::kData, "there is one column: separators are set by data.csv.separator");
}

// Fills in how a number is scaled.  Bins beside the number are left out if there are fewer than two.
// `scale` is the scale of the number itself, without the "+bins" at its end.  A number x becomes (x -
// offset) / divisor: with mean and deviation of x, or of its logarithm, or with the range from the smallest
// to the largest.  Edges are made for the scale bins, and for bins beside the number.
void fill_in_scale(CsvColumn& column, const ColumnStatistics& seen) {
  const bool beside = has_bins_beside(column);
  std::string scale = column.scale.substr(0, column.scale.size() - (beside ? kBinsBeside.size() : 0));
  if (scale == "auto") scale = seen.is_skewed() ? "log" : "standard";
  if (scale == "standard" || scale == "log") {
    const Moments& moments = scale == "log" ? seen.logarithms() : seen.moments();
    column.offset = moments.mean();
    column.divisor = moments.deviation();
  } else if (scale == "min_max") {
    column.offset = seen.smallest();
    column.divisor = seen.largest() - seen.smallest();
  }
  if (!(column.divisor > 0)) column.divisor = 1;  // all numbers are equal
  if (scale == "bins") column.edges = seen.edges(column.bins, 1);
  if (beside) column.edges = seen.edges(column.bins, kLeastOfBin);
  column.scale = beside && !column.edges.empty() ? cat(scale, kBinsBeside) : scale;
}

void check_num_classes(const std::string& label, const ColumnStatistics& seen) {
  if (seen.num_words() <= kMostClasses) return;
  fail(Code::kUsage, "data.csv.label: column ", quote(label), " has more than ", kMostClasses,
       " different words: name the column that is the label");
}

// Lists the words of a column that hashes them, if `bytes_left` reaches for all of them, and takes them
// from it: a list with gaps would be of no use.
void list_words(CsvColumn& column, const ColumnStatistics& seen, size_t& bytes_left) {
  if (column.type == "text" || column.type == "ignore" || column.dictionary > 0) return;
  std::vector<std::string> words = seen.listed_words();
  size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size();
  if (bytes > bytes_left) return;
  bytes_left -= bytes;
  column.hashed_words = std::move(words);
}

// Fills in a column's keys that are auto, and all that is learnt.  `missing` depends on the type, and the
// words and the scale on both.  The words of this column and of those after it may have `bytes_left` bytes.
void fill_in(CsvColumn& column, const ColumnStatistics& seen, size_t& bytes_left) {
  if (column.type == "auto") {
    column.type = seen.all_numbers() ? "number"
                  : seen.has_lists() ? "categories"
                  : seen.is_text()   ? "text"
                                     : "category";
  }
  const bool number = column.type == "number";
  if (column.missing == "auto") column.missing = !number || seen.has_missing() ? "indicator" : "none";
  if (!number) {
    column.words = seen.frequent_words(static_cast<size_t>(column.dictionary));
    list_words(column, seen, bytes_left);
    return;
  }
  fill_in_scale(column, seen);
}

}  // namespace

// The label must be known before statistics are made, because they count the words of a label, which become
// classes, but only list those of a feature.
void TableColumns::set_header(const std::vector<std::string>& names) {
  check_names(names);
  names_ = names;
  find_label();
  if (csv_.label.empty() && csv_.labels.empty())
    csv_.label = names.back() == apart_ ? names[names.size() - 2] : names.back();
  check_given();
  for (const std::string& name : names) {
    if (is_feature(name) || name == csv_.label || is_label_column(name)) add(name);
  }
}

ColumnStatistics* TableColumns::find(std::string_view name) {
  const auto found = statistics_.find(name);
  return found == statistics_.end() ? nullptr : &found->second;
}

ColumnStatistics* TableColumns::find_or_add(std::string_view name) {
  if (ColumnStatistics* found = find(name)) return found;
  if (name.empty() || name == csv_.weight || name == csv_.group || name == apart_) return nullptr;
  if (names_.size() == kMostColumns)
    fail(Code::kData, "there are more than ", kMostColumns, " different fields");
  names_.emplace_back(name);
  add(names_.back());
  return find(name);
}

// Makes the statistics of a column.  Fields that hold several words are cut at the separator: with
// multi_label those of a label, and those of categories.  0 stands for a column whose fields are one word
// each.
void TableColumns::add(const std::string& name) {
  const CsvColumn* column = given(name);
  const bool several = column != nullptr && column->type == "categories" && !may_be_label(name);
  const char of_labels = multi_label_ ? csv_.label_separator[0] : '\0';
  const char separator = may_be_label(name) ? of_labels : several ? column->separator[0] : '\0';
  statistics_.emplace(name, ColumnStatistics(word_use(name, column), separator));
}

// Words are counted if the most frequent ones are needed, for classes and dictionaries; else they are
// listed if they may be hashed.  A column of type auto may turn out to hold numbers, whose words nobody
// needs.
WordUse TableColumns::word_use(const std::string& name, const CsvColumn* column) const {
  if (may_be_label(name) || (column != nullptr && column->dictionary > 0)) return WordUse::kCounted;
  if (column == nullptr || column->type == "auto") return WordUse::kListedUnlessNumbers;
  return column->type.starts_with("categor") ? WordUse::kListed : WordUse::kNone;
}

bool TableColumns::ignores(std::string_view name) const {
  const CsvColumn* column = given(name);
  return column != nullptr && column->type == "ignore";
}

// Returns the options that the user gave for a column, or null.  An entry with its name goes before one
// with a pattern, and the first pattern that matches before the others.
const CsvColumn* TableColumns::given(std::string_view name) const {
  const CsvColumn* by_pattern = nullptr;
  for (const CsvColumn& column : csv_.columns) {
    if (column.name == name) return &column;
    if (by_pattern == nullptr && is_column_pattern(column) && matches_pattern(column.name, name))
      by_pattern = &column;
  }
  return by_pattern;
}

bool TableColumns::is_feature(std::string_view name) const {
  return !name.empty() && name != csv_.label && name != csv_.weight && name != csv_.group && name != apart_ &&
         !is_label_column(name);
}

// Returns true if `labels` names the column, or has a pattern for it.
bool TableColumns::is_label_column(std::string_view name) const {
  return std::any_of(csv_.labels.begin(), csv_.labels.end(), [&](const std::string& label) {
    return label == name || (is_pattern(label) && matches_pattern(label, name));
  });
}

bool TableColumns::may_be_label(const std::string& name) const {
  if (!csv_.labels.empty()) return is_label_column(name);
  return csv_.label.empty() ? is_usual_label(name) : name == csv_.label;
}

// Returns true if the column's name is a pattern.  A name with a star that is in the header is none.
bool TableColumns::is_column_pattern(const CsvColumn& column) const {
  return is_pattern(column.name) && !contains(names_, column.name);
}

void TableColumns::check_given() const {
  for (const CsvColumn& column : csv_.columns) {
    if (!contains(names_, column.name) && !is_column_pattern(column))
      fail(Code::kUsage, "data.csv.columns: there is no column ", quote(column.name),
           did_you_mean(column.name, names_));
  }
}

// Finds the label's column by its name; leaves it empty if no name is a usual one.
void TableColumns::find_label() {
  if (!csv_.labels.empty()) return find_label_columns();
  if (csv_.label.empty()) {
    const auto found = std::find_if(names_.begin(), names_.end(), is_usual_label);
    if (found != names_.end()) csv_.label = *found;
  } else if (!contains(names_, csv_.label)) {
    fail(Code::kUsage, "data.csv.label: there is no column ", quote(csv_.label),
         did_you_mean(csv_.label, names_));
  }
}

// Throws kUsage for a name or pattern of `labels` that no column has.
void TableColumns::find_label_columns() {
  for (const std::string& label : csv_.labels) {
    const bool pattern = is_pattern(label);
    const bool found = std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
      return name == label || (pattern && matches_pattern(label, name));
    });
    if (!found) {
      fail(Code::kUsage, "data.csv.labels: there is no column ", quote(label), did_you_mean(label, names_));
    }
  }
}

// Leaves out the slot of a number's bins if a column has its name.
void TableColumns::leave_out_bins_of_taken_name(CsvColumn& column) const {
  if (has_bins_beside(column) && contains(names_, bin_slot(column)))
    column.scale.resize(column.scale.size() - kBinsBeside.size());
}

// The names of jsonl are complete only now, since any record may bring new ones; so the label is searched,
// and the columns that the user named are checked, a second time.  A column that did not occur in each
// record has missing values.  Slots have the order of names_.  The words of all columns share one limit,
// kMostWordBytes, which the first columns use up.
CsvOptions TableColumns::finish(int64_t records) {
  find_label();
  if (csv_.label.empty() && csv_.labels.empty()) {
    fail(Code::kUsage, "data.csv.label: name the column that is the label, one of ",
         join(std::span(names_).first(std::min<size_t>(names_.size(), 20)), ", "));
  }
  check_given();
  for (auto& [name, seen] : statistics_) {
    if (seen.num_fields() < records) seen.add_missing();
  }
  std::vector<CsvColumn> columns;
  size_t bytes_left = kMostWordBytes;
  for (const std::string& name : names_) {
    if (!is_feature(name)) continue;
    const CsvColumn* column = given(name);
    columns.push_back(column == nullptr ? CsvColumn{} : *column);
    columns.back().name = name;
    leave_out_bins_of_taken_name(columns.back());
    fill_in(columns.back(), statistics_.find(name)->second, bytes_left);
  }
  csv_.columns = std::move(columns);
  fill_in_classes();
  csv_.learnt = true;
  return std::move(csv_);
}

// Returns the columns that `labels` names: with multi_label in the order of the table, else as they are named.
std::vector<std::string> TableColumns::label_columns() const {
  std::vector<std::string> labels;
  const auto add_matches = [&](const auto& matches) {
    for (const std::string& name : names_) {
      if (!name.empty() && matches(name) && !contains(labels, name)) labels.push_back(name);
    }
  };
  if (multi_label_) {
    add_matches([this](const std::string& name) { return is_label_column(name); });
    return labels;
  }
  for (const std::string& label : csv_.labels) {
    add_matches([&](const std::string& name) {
      return label == name || (is_pattern(label) && matches_pattern(label, name));
    });
  }
  return labels;
}

// Puts the names of columns in place of patterns, and appends the classes of each.
void TableColumns::fill_in_label_columns() {
  csv_.labels = label_columns();
  if (!csv_.classes.empty()) return;
  for (const std::string& label : csv_.labels) add_classes_of(label);
  const std::set<std::string> distinct(csv_.classes.begin(), csv_.classes.end());
  if (distinct.size() < csv_.classes.size())
    fail(Code::kUsage,
         "data.csv.labels: a column and a word of another give two classes one name: list them in "
         "data.csv.classes");
}

// A column that holds truths, or nothing at all, is one class; else each of its words is one.  Numbers that
// are labels of their own are no classes.
void TableColumns::add_classes_of(const std::string& label) {
  const ColumnStatistics& seen = statistics_.find(label)->second;
  if (!multi_label_ && seen.all_numbers()) return;
  check_num_classes(label, seen);
  std::vector<std::string> words = seen.frequent_words(kMostClasses);
  std::sort(words.begin(), words.end());
  if (std::all_of(words.begin(), words.end(),
                  [](const std::string& word) { return truth_of(word).has_value(); })) {
    csv_.classes.push_back(label);
    return;
  }
  for (const std::string& word : words) csv_.classes.push_back(class_of_word(label, word));
}

// Classes are sorted, so that their numbers do not depend on the order of the examples or their frequency.
// With multi_label, words that are whole numbers are numbers of classes themselves, and need no list.
void TableColumns::fill_in_classes() {
  if (!csv_.labels.empty()) return fill_in_label_columns();
  const ColumnStatistics& label = statistics_.find(csv_.label)->second;
  if (!csv_.classes.empty() || label.all_numbers()) return;
  check_num_classes(csv_.label, label);
  csv_.classes = label.frequent_words(kMostClasses);
  const auto is_number = [](const std::string& word) { return parse_uint(word).has_value(); };
  if (multi_label_ && std::all_of(csv_.classes.begin(), csv_.classes.end(), is_number)) csv_.classes.clear();
  std::sort(csv_.classes.begin(), csv_.classes.end());
}

}  // namespace ps
