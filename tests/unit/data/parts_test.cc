// Parts of data for validation, by the value of a column or slot: all examples with the same one are on one side.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "data/csv/learn.h"
#include "data/records.h"
#include "data_test.h"

namespace ps::parts_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

class Parts : public DataTest {
 protected:
  static constexpr int kUsers = 400, kRows = 4000;

  // Columns n, the row's number, and the label y; `user` is no slot.
  static DataOptions table(const std::string& format) {
    DataOptions options;
    options.format = format;
    options.csv.label = "y";
    CsvColumn n;
    n.name = "n";
    n.type = "number";
    n.scale = n.missing = "none";
    options.csv.columns = {n};
    options.csv.learnt = true;
    options.validation_by = "user";
    return options;
  }

  // Rows of users in turn, so that those of one user lie far apart.
  static std::string rows(const std::string& format) {
    std::string out = format == "csv" ? "user,n,y\n" : format == "tsv" ? "y\tn\tuser\n" : "";
    for (int i = 0; i < kRows; ++i) {
      const int user = user_of(i);
      if (format == "csv") out += cat("u", user, ",", i, ",", i % 2, "\n");
      if (format == "tsv") out += cat(i % 2, "\t", i, "\tu", user, "\n");
      if (format == "jsonl") out += cat("{\"n\":", i, ",\"user\":\"u", user, "\",\"y\":", i % 2, "}\n");
    }
    return out;
  }

  static int user_of(int row) { return row * 7 % kUsers; }

  std::vector<std::string> part_of(DataOptions options, DataPart part, std::string_view bytes,
                                   const ReaderSettings& settings = {}) {
    options.part = part;
    return read(options, bytes, settings);
  }

  // The users of examples "1 n:17".
  static std::set<int> users(const std::vector<std::string>& examples) {
    std::set<int> out;
    for (const std::string& example : examples)
      out.insert(user_of(std::stoi(example.substr(example.find(':') + 1))));
    return out;
  }
};

TEST_F(Parts, NoUserOfATableIsOnBothSides) {
  std::map<std::string, std::set<int>> kept;
  for (const std::string format : {"csv", "tsv", "jsonl"}) {
    DataOptions options = table(format);
    options.validation = 0.2;
    const std::string bytes = rows(format);
    const auto training = part_of(options, DataPart::kTraining, bytes);
    const auto validation = part_of(options, DataPart::kValidation, bytes);
    EXPECT_EQ(training.size() + validation.size(), size_t{kRows});
    const std::set<int> trained = users(training);
    kept[format] = users(validation);
    EXPECT_EQ(trained.size() + kept[format].size(), size_t{kUsers}) << "a user is on both sides, or on none";
    for (const int user : kept[format]) EXPECT_FALSE(trained.contains(user)) << user;
    EXPECT_NEAR(static_cast<double>(kept[format].size()), 0.2 * kUsers, 40);
    EXPECT_EQ(part_of(options, DataPart::kAll, bytes).size(), size_t{kRows});
  }
  EXPECT_EQ(kept["csv"], kept["tsv"]);
  EXPECT_EQ(kept["csv"], kept["jsonl"]) << "the value alone decides, however it is written";
}

TEST_F(Parts, AreTheSameForAnyThreadsAndTrainers) {
  DataOptions options = table("csv");
  options.validation = 0.2;
  options.batch_size = 7;
  const std::string bytes = rows("csv");
  const auto training = part_of(options, DataPart::kTraining, bytes);
  std::vector<std::string> shared;
  for (int share = 0; share < 3; ++share) {
    const ReaderSettings settings{.threads = 1 + share, .share = share, .num_shares = 3};
    const auto own = part_of(options, DataPart::kTraining, bytes, settings);
    shared.insert(shared.end(), own.begin(), own.end());
  }
  EXPECT_THAT(shared, UnorderedElementsAreArray(training));
}

TEST_F(Parts, EachUserIsOfOneFold) {
  DataOptions options = table("csv");
  options.validation = 0.25;
  std::vector<int> times(kUsers);
  for (options.fold = 0; options.fold < 4; ++options.fold) {
    for (const int user : users(part_of(options, DataPart::kValidation, rows("csv"))))
      ++times[static_cast<size_t>(user)];
  }
  EXPECT_THAT(times, testing::Each(1));
}

TEST_F(Parts, ValuesOfAColumnSayWhichRowsAreKept) {
  for (const std::string format : {"csv", "jsonl"}) {
    DataOptions options = table(format);
    options.validation_values = {"u3", "u77", "nobody"};
    const auto validation = part_of(options, DataPart::kValidation, rows(format));
    EXPECT_EQ(users(validation), (std::set<int>{3, 77}));
    EXPECT_EQ(validation.size(), 2 * size_t{kRows / kUsers});
    EXPECT_EQ(part_of(options, DataPart::kTraining, rows(format)).size() + validation.size(), size_t{kRows});
  }
}

TEST_F(Parts, RowsWithoutAValueAreOnOneSide) {
  DataOptions options = table("jsonl");
  options.validation_values = {""};
  const std::string bytes =
      "{\"n\":1,\"y\":0,\"user\":\"\"}\n{\"n\":2,\"y\":0}\n{\"n\":3,\"y\":1,\"user\":null}\n"
      "{\"n\":4,\"y\":1,\"user\":\"x\"}\n";
  EXPECT_THAT(part_of(options, DataPart::kValidation, bytes), ElementsAre("0 n:1", "0 n:2", "1 n:3"));
  EXPECT_THAT(part_of(options, DataPart::kTraining, bytes), ElementsAre("1 n:4"));
}

TEST_F(Parts, TheColumnWithTheValuesIsNoSlot) {
  DataOptions options;
  options.validation_by = "part";
  options.validation_values = {"valid"};
  for (const std::string format : {"csv", "jsonl"}) {
    options.format = format;
    const std::string path =
        put_file("data", format == "csv" ? "n,outcome,part\n1,0,train\n2,1,valid\n"
                                         : "{\"n\":1,\"y\":0,\"part\":\"train\"}\n{\"n\":2,\"y\":1}\n");
    const CsvOptions csv = learn_table(options, {path}, {}, 1000);
    ASSERT_EQ(csv.columns.size(), 1u);
    EXPECT_EQ(csv.columns[0].name, "n");
    EXPECT_EQ(csv.label, format == "csv" ? "outcome" : "y") << "the last column is not the label";
  }
}

// A slot decides by its ids, or values; the groups of libsvm decide as qid.
TEST_F(Parts, ExamplesWithTheSameSlotAreOnOneSide) {
  DataOptions multislot = options_for("multislot");
  multislot.slots = {{"user", "sparse", 0}, {"day", "dense", 1}, {"n", "sparse", 0}, {"label", "dense", 1}};
  const DataOptions libsvm = options_for("libsvm");
  std::string slots, groups;
  for (int i = 0; i < kRows; ++i) {
    slots += cat("1 ", user_of(i), " 1 ", i % 50, " 1 ", i, " 1 0\n");
    groups += cat("0 qid:", user_of(i), " ", i, "\n");
  }
  struct Case {
    DataOptions options;
    std::string by;
    std::string bytes;
    size_t different;
  };
  for (Case& c : std::vector<Case>{{multislot, "user", slots, kUsers},
                                   {multislot, "day", slots, 50},
                                   {multislot, "n", slots, kRows},
                                   {libsvm, "qid", groups, kUsers},
                                   {libsvm, "features", groups, kRows}}) {
    c.options.validation = 0.3;
    c.options.validation_by = c.by;
    const std::string before = c.by == "qid" ? "@" : cat(c.by, ":");
    std::map<std::string, int> sides;  // of each value: 1 training, 2 validation
    size_t examples = 0;
    for (const DataPart part : {DataPart::kTraining, DataPart::kValidation}) {
      for (const std::string& example : part_of(c.options, part, c.bytes)) {
        const size_t at = example.find(before);
        const std::string value =
            at == std::string::npos ? "0" : example.substr(at, example.find(' ', at) - at);
        sides[value] |= part == DataPart::kTraining ? 1 : 2;
        ++examples;
      }
    }
    EXPECT_EQ(examples, size_t{kRows}) << c.by;
    EXPECT_EQ(sides.size(), c.different) << c.by;
    size_t validation = 0;
    for (const auto& [value, side] : sides) {
      EXPECT_NE(side, 3) << c.by << ": " << value << " is on both sides";
      validation += side == 2;
    }
    EXPECT_NEAR(static_cast<double>(validation), 0.3 * static_cast<double>(c.different),
                std::max(10.0, 0.1 * static_cast<double>(c.different)));
  }
}

// A stream of records of the examples that `options` read from `bytes`.
static std::string records_of(const DataOptions& options, const std::string& path) {
  BatchReader reader(options, {path}, {});
  std::string out;
  encode_records_header(reader.schema(), out);
  Batch batch;
  for (reader.begin_pass(0); reader.next(batch);) encode_records_chunk(reader.schema(), batch, out);
  encode_records_end(out);
  return out;
}

// By a slot or group, records decide as the lines do that they are made of; without one, equal examples decide alike.
TEST_F(Parts, OfRecordsAreThoseOfTheirLines) {
  DataOptions slots = options_for("multislot");
  slots.slots = {{"user", "sparse", 0}, {"day", "dense", 1}, {"n", "sparse", 0}, {"label", "dense", 1}};
  const DataOptions libsvm = options_for("libsvm");
  std::string lines, groups;
  for (int i = 0; i < kRows; ++i) {
    lines += cat("1 ", user_of(i), " 1 ", i % 50, " 1 ", i, " 1 0\n");
    groups += cat("0 qid:", user_of(i), " ", i / 2, ":1.5\n");
  }
  struct Case {
    DataOptions options;
    std::string by, bytes;
  };
  for (Case& c : std::vector<Case>{{slots, "user", lines},
                                   {slots, "day", lines},
                                   {libsvm, "qid", groups},
                                   {slots, "", lines},
                                   {libsvm, "", groups}}) {
    const std::string bytes = records_of(c.options, put_file("lines", c.bytes));
    DataOptions records = options_for("records");
    for (DataOptions* options : {&c.options, &records}) {
      options->validation = 0.3;
      options->validation_by = c.by;
    }
    const auto training = part_of(records, DataPart::kTraining, bytes, {.threads = 2});
    const auto validation = part_of(records, DataPart::kValidation, bytes);
    EXPECT_EQ(training.size() + validation.size(), size_t{kRows}) << c.by;
    if (!c.by.empty()) {
      EXPECT_EQ(training, part_of(c.options, DataPart::kTraining, c.bytes)) << c.by;
      EXPECT_EQ(validation, part_of(c.options, DataPart::kValidation, c.bytes)) << c.by;
      continue;
    }
    EXPECT_NEAR(static_cast<double>(validation.size()), 0.3 * kRows, 120);
    for (const std::string& example : validation)
      EXPECT_EQ(std::count(training.begin(), training.end(), example), 0) << example << " is on both sides";
  }
}

TEST_F(Parts, OfRecordsKeepTheirWeightsWhenNegativesAreSampled) {
  DataOptions libsvm = options_for("libsvm");
  std::string lines;
  for (int i = 0; i < kRows; ++i) lines += cat(i % 4 == 0 ? "1:3 " : "0 ", i, "\n");
  DataOptions records = options_for("records");
  records.validation = 0.5;
  records.negative_rate = 0.25;
  const std::string bytes = records_of(libsvm, put_file("lines", lines));
  const auto training = part_of(records, DataPart::kTraining, bytes);
  int positives = 0, negatives = 0;
  for (const std::string& example : training) {
    const bool positive = example.starts_with("1*3 ");
    EXPECT_TRUE(positive || example.starts_with("0*4 ")) << example;
    ++(positive ? positives : negatives);
  }
  EXPECT_NEAR(positives, kRows / 8, 70);
  EXPECT_NEAR(negatives, kRows * 3 / 8 / 4, 70);
  for (const std::string& example : part_of(records, DataPart::kValidation, bytes))
    EXPECT_TRUE(example.starts_with("1*3 ") || example.starts_with("0*1 ")) << example;
}

TEST_F(Parts, AreRefusedWhereNothingDecides) {
  DataOptions options = table("csv");
  options.validation = 0.1;
  options.part = DataPart::kTraining;
  EXPECT_THAT(error_of(options, "usr,n,y\n1,2,0\n"),
              HasSubstr("there is no column 'user' (did you mean 'usr'?) in the header"));
  options.part = DataPart::kAll;
  EXPECT_THAT(error_of(options, "usr,n,y\n1,2,0\n"), IsEmpty()) << "what is tested has no parts";
  DataOptions lines = table("jsonl");
  lines.validation = 0.1;
  lines.part = DataPart::kTraining;
  EXPECT_THAT(error_of(lines, "{\"n\":1,\"y\":0,\"user\":[1]}\n"),
              HasSubstr("column 21: field 'user', which data.validation_by names, is no single value"));
  DataOptions libsvm = options_for("libsvm");
  libsvm.validation = 0.1;
  libsvm.part = DataPart::kTraining;
  libsvm.validation_by = "user";
  EXPECT_THAT(error_of(libsvm, "1 2:3\n"),
              HasSubstr("data.validation_by: there is no slot 'user', expected one of features"));
  libsvm.validation_by = "qid";
  libsvm.validation = 0;
  libsvm.validation_values = {"7"};
  EXPECT_THAT(error_of(libsvm, "1 2:3\n"), HasSubstr("data.validation_values: files of format 'libsvm'"));
}

TEST_F(Parts, BadLinesOfAPartAreThatPartsAlone) {
  DataOptions options = table("csv");
  options.validation_values = {"v"};
  const std::string bytes = "user,n,y\nt,1,0\nv,bad,0\nv,2,1\n";
  EXPECT_THAT(part_of(options, DataPart::kTraining, bytes), ElementsAre("0 n:1"));
  options.part = DataPart::kValidation;
  EXPECT_THAT(error_of(options, bytes), HasSubstr("data:3: value 'bad' of column 'n'"));
}

}  // namespace ps::parts_test
