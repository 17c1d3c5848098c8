// A part of the negative examples is trained on, with larger weights: how many, which, and that nothing else changes.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "data/records.h"
#include "data_test.h"

namespace ps::negatives_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

class Negatives : public DataTest {
 protected:
  static constexpr int kLines = 8000;  // one of ten is positive

  static bool is_positive_line(int line) { return line % 10 == 0; }

  // Examples of one id, the number of the line, as multislot and as records.
  static DataOptions slots() {
    DataOptions options = options_for("multislot");
    options.slots = {{"n", "sparse", 0}, {"click", "dense", 1}};
    options.part = DataPart::kTraining;
    options.negative_rate = 0.2;
    options.sampling_seed = 1;
    return options;
  }

  static std::string lines() {
    std::string out;
    for (int i = 0; i < kLines; ++i) out += cat("1 ", i, " 1 ", is_positive_line(i) ? 1 : 0, "\n");
    return out;
  }

  // All lines as a stream of records.
  std::string records() {
    DataOptions options = slots();
    options.negative_rate = 1;
    options.batch_size = 512;
    BatchReader reader(options, {put_file("text", lines())}, {});
    std::string out;
    encode_records_header(reader.schema(), out);
    Batch batch;
    for (reader.begin_pass(0); reader.next(batch);) encode_records_chunk(reader.schema(), batch, out);
    encode_records_end(out);
    return out;
  }

  struct Kept {
    int positives = 0, negatives = 0;
    double weight = 0;
  };

  // Counts the examples of a pass, and checks the weight of each.
  Kept count(const DataOptions& options, std::string_view bytes) {
    BatchReader reader(options, {put_file("data", bytes)}, {});
    Kept kept;
    Batch batch;
    for (reader.begin_pass(0); reader.next(batch);) {
      for (int64_t b = 0; b < batch.size(); ++b) {
        const bool positive = batch.labels[static_cast<size_t>(b)] > 0;
        EXPECT_FLOAT_EQ(batch.weight(b), positive ? 1 : 5);
        ++(positive ? kept.positives : kept.negatives);
        kept.weight += batch.weight(b);
      }
    }
    return kept;
  }
};

TEST_F(Negatives, ThatAreKeptStandForAll) {
  DataOptions table = slots();
  table.csv.label = "y";
  table.csv.columns = {{}};
  table.csv.columns[0].name = "n";
  table.csv.columns[0].type = "category";
  table.csv.learnt = true;
  DataOptions objects = table;
  table.format = "csv";
  objects.format = "jsonl";
  DataOptions binary = slots(), libsvm = slots();
  binary.format = "records";
  libsvm.format = "libsvm";
  std::string rows = "n,y\n", json, signs;
  for (int i = 0; i < kLines; ++i) {
    const int label = is_positive_line(i);
    rows += cat(i, ",", label, "\n");
    json += cat("{\"n\":", i, ",\"y\":", label, "}\n");
    signs += cat(label == 1 ? "+1 " : "-1 ", i, "\n");
  }
  for (const auto& [options, bytes] : std::vector<std::pair<DataOptions, std::string>>{
           {slots(), lines()}, {table, rows}, {objects, json}, {libsvm, signs}, {binary, records()}}) {
    const Kept kept = count(options, bytes);
    EXPECT_EQ(kept.positives, kLines / 10) << options.format;
    EXPECT_NEAR(kept.negatives, 0.2 * 0.9 * kLines, 150) << options.format;
    EXPECT_NEAR(kept.weight, kLines, 750) << options.format;
  }
}

// Data of few different lines would lose some of them altogether, if equal lines had one fate.
TEST_F(Negatives, AreDrawnOneByOneWhereLinesAreEqual) {
  std::string equal;
  for (int i = 0; i < kLines; ++i) equal += "1 7 1 0\n";
  EXPECT_NEAR(count(slots(), equal).negatives, 0.2 * kLines, 150);
}

TEST_F(Negatives, AreTheSameForAnyThreadsTrainersAndPasses) {
  for (const bool binary : {false, true}) {
    DataOptions options = slots();
    options.format = binary ? "records" : "multislot";
    options.batch_size = 7;
    const std::string bytes = binary ? records() : lines();
    const std::vector<std::string> expected = read(options, bytes);
    ASSERT_GT(expected.size(), size_t{kLines / 10});
    ASSERT_LT(expected.size(), size_t{kLines / 2});
    EXPECT_EQ(read(options, bytes, {.threads = 4}), expected);
    std::vector<std::string> shared;
    for (int share = 0; share < 3; ++share) {
      const auto own = read(options, bytes, {.share = share, .num_shares = 3});
      shared.insert(shared.end(), own.begin(), own.end());
    }
    EXPECT_THAT(shared, UnorderedElementsAreArray(expected));
    BatchReader again(options, {put_file("data", bytes)}, {.passes = 2});
    EXPECT_EQ(read_batches(again, 0), read_batches(again, 1));
    options.sampling_seed = 2;
    EXPECT_NE(read(options, bytes), expected);
  }
}

TEST_F(Negatives, AreAllThereInOtherPartsOfTheData) {
  DataOptions options = slots();
  options.part = DataPart::kAll;
  EXPECT_EQ(read(options, lines()).size(), size_t{kLines});
  options.validation = 0.5;
  DataOptions whole = options;
  whole.negative_rate = 1;
  options.part = whole.part = DataPart::kValidation;
  EXPECT_EQ(read(options, lines()), read(whole, lines()));
  options.part = whole.part = DataPart::kTraining;
  EXPECT_LT(read(options, lines()).size(), read(whole, lines()).size() / 2);
}

TEST_F(Negatives, MultiplyTheWeightsThatTheyHave) {
  DataOptions options = options_for("libsvm");
  options.part = DataPart::kTraining;
  options.negative_rate = 0.5;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "0:3 1\n1:2 1\n";
  const std::vector<std::string> examples = read(options, text);
  std::set<std::string> kinds(examples.begin(), examples.end());
  EXPECT_THAT(kinds, ElementsAre("0*6 features:1", "1*2 features:1"));
  EXPECT_LT(examples.size(), 80u);
}

TEST_F(Negatives, OfWordsThereAreNone) {
  DataOptions options = options_for("text");
  options.part = DataPart::kTraining;
  options.negative_rate = 0.5;
  EXPECT_THAT(error_of(options, "some words\n"),
              HasSubstr("data.negative_rate: the labels of format 'text'"));
}

}  // namespace ps::negatives_test
