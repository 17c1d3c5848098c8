// Records of tables that are encoded together, against the same field by field; and the ways to cut a record.
#include "data/csv/record_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "data/csv/fields.h"
#include "support/environment.h"

namespace ps::record_encoder_test {

static CsvColumn column(const std::string& type, const std::string& scale, const std::string& missing) {
  CsvColumn out;
  out.name = cat(type, scale, missing);
  out.type = type;
  out.scale = scale;
  out.missing = missing;
  out.offset = 3;
  out.divisor = 7;
  return out;
}

// A column of every kind, and the label.
static DataOptions all_kinds() {
  DataOptions options;
  options.format = "csv";
  options.csv.label = "y";
  options.csv.classes = {"1", "-2.5", "clerk"};
  options.csv.weight = "w";
  options.csv.group = "g";
  for (const char* missing : {"none", "indicator"}) {
    for (const char* scale : {"none", "standard", "log", "bins", "log+bins"}) {
      options.csv.columns.push_back(column("number", scale, missing));
      if (has_bins_beside(options.csv.columns.back()) || options.csv.columns.back().is_binned())
        options.csv.columns.back().edges = {-1, 0.5, 8};
    }
    for (const char* type : {"category", "categories", "text"})
      options.csv.columns.push_back(column(type, "none", missing));
    options.csv.columns.push_back(column("category", "counted", missing));
    options.csv.columns.back().dictionary = 2;
    options.csv.columns.back().words = {"clerk", "1"};
  }
  options.csv.columns.push_back(column("ignore", "none", "none"));
  options.csv.learnt = true;
  return options;
}

static std::vector<std::string> names_of(const DataOptions& options) {
  std::vector<std::string> names = {"y", "w", "g"};
  for (const CsvColumn& each : options.csv.columns) names.push_back(each.name);
  return names;
}

static void expect_equal(const Batch& found, const Batch& expected) {
  EXPECT_EQ(found.labels, expected.labels);
  EXPECT_EQ(found.weights, expected.weights);
  EXPECT_EQ(found.groups, expected.groups);
  for (size_t s = 0; s < expected.slots.size(); ++s) {
    EXPECT_EQ(found.slots[s].offsets, expected.slots[s].offsets) << s;
    EXPECT_EQ(found.slots[s].keys, expected.slots[s].keys) << s;
    EXPECT_EQ(found.slots[s].values, expected.slots[s].values) << s;
  }
}

// Appends the records of `lines` one field after the other.
static void add_by_field(const RecordEncoder& encoder, const std::vector<FieldUse>& uses,
                         const std::vector<std::string>& lines, Batch& batch) {
  CsvFields fields({',', 0, 0});
  for (const std::string& line : lines) {
    fields.cut(line.data(), line.data() + line.size() - kScanPadding);
    float label = 0;
    for (size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].kind == FieldKind::kLabel) {
        label = encoder.label(fields[i]);
      } else {
        encoder.add(fields[i], uses[i], batch);
      }
    }
    batch.labels.push_back(label);
  }
}

static void add_by_column(const RecordEncoder& encoder, const std::vector<FieldUse>& uses,
                          const std::vector<std::string>& lines, Batch& batch) {
  FieldRows rows(uses.size());
  CsvFields fields({',', 0, 0});
  for (const std::string& line : lines) {
    fields.cut(line.data(), line.data() + line.size() - kScanPadding);
    rows.append(fields.all());
  }
  for (size_t i = 0; i < uses.size(); ++i) encoder.add_column(rows.column(i), uses[i], batch);
}

static bool succeeds(auto&& body) {
  try {
    body();
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(RecordEncoder, GivesByColumnWhatItGivesByField) {
  const DataOptions options = all_kinds();
  const RecordEncoder encoder(options);
  const std::vector<FieldUse> uses = field_uses(options, names_of(options));
  const std::vector<std::string> fields = {
      "",     "1",   "-2.5",     "0.0625",   "12345678", "-0",    "1e3",       "123456789.25", "+4",
      ".5",   "nan", "?",        "NULL",     "N",        "clerk", "a|b",       "1|",           "two words",
      "00.1", "7.",  "16777217", "99999999", "-1e-9",    "é",     "1234567890"};
  Random random(1, 0);
  int good = 0;
  for (int trial = 0; trial < tries(2000); ++trial) {
    // Numbers are in all columns of most trials, since any other word in a column of numbers is an error.
    const size_t kinds = trial % 4 == 0 ? fields.size() : 10;
    std::vector<std::string> lines(1 + random.below(100));
    for (std::string& line : lines) {
      line = cat(fields[1 + random.below(2)], ",2,", random.below(3));
      for (size_t i = 3; i < uses.size(); ++i) line += "," + fields[random.below(kinds)];
      line.append(kScanPadding, '\0');
    }
    Batch by_column, by_field;
    by_column.clear(options.csv.schema());
    by_field.clear(options.csv.schema());
    const bool is_good = succeeds([&] { add_by_field(encoder, uses, lines, by_field); });
    ASSERT_EQ(succeeds([&] { add_by_column(encoder, uses, lines, by_column); }), is_good);
    if (is_good) expect_equal(by_column, by_field);
    good += is_good ? 1 : 0;
  }
  EXPECT_GT(good, tries(2000) / 2);
}

// Cuts the record at the beginning of `text` as one that may have several lines; gives its fields in brackets and its size.
static std::string cut_any(const std::string& text, size_t size, const CsvDialect& dialect) {
  bool open = false;
  const char* stop = text.data() + size;
  const char* end = find_record_end(text.data(), stop, dialect, open);
  const char* last = end > text.data() && end[-1] == '\r' ? end - 1 : end;
  CsvFields fields(dialect);
  if (open || !succeeds([&] { fields.cut(text.data(), last); })) return "no good";
  std::string out = cat(end - text.data());
  for (std::string_view field : fields.all()) out += cat("[", field, "]");
  return out;
}

TEST(CsvFields, AreTheSameOfARecordThatIsOneLine) {
  Random random(2, 0);
  int lines = 0;
  for (int trial = 0; trial < tries(100000); ++trial) {
    const CsvDialect dialect = {trial % 3 == 0 ? '\t' : ',', trial % 5 == 0 ? '\'' : '"',
                                trial % 7 == 0 ? '\\' : '\0'};
    std::string text;
    for (uint64_t i = random.below(150); i > 0; --i) {
      text += std::string_view("ab1 \t\r\n\\")[random.below(8)];
      if (random.below(3) == 0) text += dialect.separator;
      if (random.below(6) == 0)
        text += std::string("x") + dialect.separator + dialect.quote + "yz" + dialect.quote;
      if (random.below(trial % 2 == 0 ? 9 : 90) == 0) text += dialect.quote;
    }
    const size_t size = text.size();
    text.append(16, '"');
    CsvFields fields(dialect);
    const char* end = fields.cut_line(text.data(), text.data() + size);
    if (end == nullptr) continue;
    ++lines;
    std::string found = cat(end - text.data());
    for (std::string_view field : fields.all()) found += cat("[", field, "]");
    ASSERT_EQ(found, cut_any(text, size, dialect)) << text.substr(0, size);
  }
  EXPECT_GT(lines, tries(100000) / 4);
}

}  // namespace ps::record_encoder_test
