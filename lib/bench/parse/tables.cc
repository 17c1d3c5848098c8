// Generates tables of text: clicks as those of the generator criteo, in csv and in lines of JSON; numbers;
// and people as in a census, whose words may be in quotes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "bench/parse/text.h"
#include "data/criteo_columns.h"
#include "data/row_text.h"

namespace ps {

namespace {

constexpr int64_t kBlockRows = 1024;  // rows that are generated at a time

CsvColumn table_column_of(const std::string& name, const char* type) {
  CsvColumn out;
  out.name = name;
  out.type = type;
  out.scale = out.missing = "none";
  return out;
}

// Gives the columns their names.  Files have no header, and the first column is the label.
void name_columns(CsvOptions& csv) {
  csv.label = "label";
  csv.names = {csv.label};
  for (const CsvColumn& each : csv.columns) csv.names.push_back(each.name);
  csv.learnt = true;
}

// Returns the options to read clicks.
DataOptions table_options(const std::string& format) {
  DataOptions options;
  options.format = format;
  CsvOptions& csv = options.csv;
  for (int c = 1; c <= kCriteoIntegers; ++c) csv.columns.push_back(table_column_of(cat("I", c), "number"));
  for (int c = 1; c <= kCriteoCategories; ++c)
    csv.columns.push_back(table_column_of(cat("C", c), "category"));
  name_columns(csv);
  return options;
}

CsvColumn standard_number(const std::string& name, double offset, double divisor) {
  CsvColumn out = table_column_of(name, "number");
  out.scale = "standard";
  out.offset = offset;
  out.divisor = divisor;
  return out;
}

// Returns the value that a reader makes of a number of this column.
double scaled(float value, const CsvColumn& column) {
  return (value - static_cast<float>(column.offset)) * static_cast<float>(1 / column.divisor);
}

// Writes the fields of a row, one after the other.  In JSON they have names, and a field without a value is
// null.
class RowFields {
 public:
  RowFields(bool json, const std::vector<std::string>& names, std::string& out)
      : json_(json), names_(names), row_(out, 4 * names.size(), 0) {}

  // The generator writes -0 for an integer that is missing.
  void integer(float value) {
    begin();
    const bool missing = value == 0 && std::signbit(value);
    missing ? add_missing() : row_.add_int(static_cast<int64_t>(value));
  }

  void category(std::span<const Key> keys) {
    begin();
    if (keys.empty()) return add_missing();
    if (json_) row_.add('"');
    row_.add_hex8(static_cast<uint32_t>(keys[0]));
    if (json_) row_.add('"');
  }

  void end() { row_.add(json_ ? "}\n" : "\n"); }

 private:
  void begin() {
    const bool first = index_ == 0;
    if (!json_ && !first) row_.add(',');
    if (json_) {
      row_.add(first ? "{\"" : ",\"");
      row_.add(names_[index_]);
      row_.add("\":");
    }
    ++index_;
  }

  void add_missing() {
    if (json_) row_.add("null");
  }

  const bool json_;
  const std::vector<std::string>& names_;
  RowText row_;
  size_t index_ = 0;
};

// Writes row b of the batch.  Slot 0 has the integers, dense [B, 13]; each further slot has one category or
// none.
void write_row(const Batch& batch, size_t b, RowFields row) {
  row.integer(batch.labels[b]);
  const std::span integers = std::span(batch.slots[0].values).subspan(b * kCriteoIntegers, kCriteoIntegers);
  for (float value : integers) row.integer(value);
  for (const SlotData& slot : std::span(batch.slots).subspan(1)) {
    row.category(std::span(slot.keys).subspan(slot.offsets[b], slot.offsets[b + 1] - slot.offsets[b]));
  }
  row.end();
}

// A column of a census: numbers below `range`, or one of `words`, "?" where there is none.
struct CensusColumn {
  const char* name;
  uint64_t range = 0;
  std::vector<std::string_view> words = {};
};

const std::vector<CensusColumn>& census() {
  static const std::vector<CensusColumn> kColumns = {
      {"age", 90},
      {"work", 0, {"Private", "Self-emp-not-inc", "Local-gov", "State-gov", "Federal-gov", "?"}},
      {"weight", 1000000},
      {"school",
       0,
       {"HS-grad", "Some-college", "Bachelors", "Masters", "Assoc-voc", "11th", "10th", "7th-8th"}},
      {"school-years", 16},
      {"family", 0, {"Married-civ-spouse", "Never-married", "Divorced", "Separated", "Widowed"}},
      {"trade", 0, {"Prof-specialty", "Craft-repair", "Exec-managerial", "Adm-clerical", "Sales", "?"}},
      {"place", 0, {"Husband", "Not-in-family", "Own-child", "Unmarried", "Wife", "Other-relative"}},
      {"sex", 0, {"Male", "Female"}},
      {"gain", 100000},
      {"loss", 5000},
      {"hours", 99},
      {"country", 0, {"United-States", "Mexico", "?", "Philippines", "Germany", "Puerto-Rico", "Canada"}}};
  return kColumns;
}

// Appends the field of a person, and counts what a reader finds in it.  Words are in quotes if `mark` is one.
void write_census_field(const CensusColumn& column, const CsvColumn& options, std::string_view mark,
                        Random& random, RowText& row, Digest& digest) {
  if (column.words.empty()) {
    const uint64_t value = random.below(column.range);
    row.add_uint(value);
    digest.value_sum += scaled(static_cast<float>(value), options);
    return;
  }
  row.add(mark);
  row.add(column.words[random.below(column.words.size())]);
  row.add(mark);
  ++digest.keys;
  digest.value_sum += 1;
}

}  // namespace

// The columns are like those of HIGGS: a class, and 28 standard numbers of `decimals` decimals.
SyntheticData make_number_table(int decimals, double scale, uint64_t full_samples) {
  constexpr int kColumns = 28;
  SyntheticData data;
  data.options.format = "csv";
  CsvOptions& csv = data.options.csv;
  for (int c = 0; c < kColumns; ++c) csv.columns.push_back(standard_number(cat("x", c), 0.5, 1.5));
  name_columns(csv);
  data.digest.examples = scaled_samples(scale, full_samples);
  Random random(1, 0);
  for (uint64_t i = 0; i < data.digest.examples; ++i) {
    const uint64_t label = random.below(2);
    data.digest.label_sum += static_cast<double>(label);
    data.bytes += label != 0 ? '1' : '0';
    for (const CsvColumn& column : csv.columns) {
      char text[64];
      const int size = std::snprintf(text, sizeof text, ",%.*f", decimals, random.normal());
      data.bytes.append(text, static_cast<size_t>(size));
      data.digest.value_sum += scaled(std::strtof(text + 1, nullptr), column);
    }
    data.bytes += '\n';
  }
  return data;
}

// The columns are like those of the set Adult: words, and integers, which are scaled.
SyntheticData make_census_table(bool quoted, double scale, uint64_t full_samples) {
  SyntheticData data;
  data.options.format = "csv";
  CsvOptions& csv = data.options.csv;
  for (const CensusColumn& column : census()) {
    csv.columns.push_back(column.words.empty() ? standard_number(column.name, 10, 30)
                                               : table_column_of(column.name, "category"));
    if (!column.words.empty()) csv.columns.back().missing = "indicator";
  }
  csv.classes = {"<=50K", ">50K"};
  name_columns(csv);
  data.digest.examples = scaled_samples(scale, full_samples);
  const std::string_view mark = quoted ? "\"" : "";
  Random random(1, 0);
  for (uint64_t i = 0; i < data.digest.examples; ++i) {
    RowText row(data.bytes, 4 * csv.names.size(), 0);
    const uint64_t label = random.below(2);
    data.digest.label_sum += static_cast<double>(label);
    row.add(mark);
    row.add(csv.classes[label]);
    row.add(mark);
    for (size_t c = 0; c < census().size(); ++c) {
      row.add(',');
      write_census_field(census()[c], csv.columns[c], mark, random, row, data.digest);
    }
    row.add('\n');
  }
  return data;
}

// Generates blocks of clicks and writes their rows, each with its label, 13 integers and 26 categories.
SyntheticData make_table(const std::string& format, double scale, uint64_t full_samples) {
  const uint64_t samples = scaled_samples(scale, full_samples);
  const std::unique_ptr<Generator> generator = make_generator({"criteo", "criteo"}, scale);
  SyntheticData data;
  data.options = table_options(format);
  Sample sample;
  for (uint64_t first = 0; first < samples; first += kBlockRows) {
    generator->generate(first, std::min<int64_t>(kBlockRows, static_cast<int64_t>(samples - first)), sample);
    for (size_t b = 0; b < sample.batch.labels.size(); ++b)
      write_row(sample.batch, b, {format == "jsonl", data.options.csv.names, data.bytes});
    data.digest.add(sample.batch);
  }
  return data;
}

}  // namespace ps
