// Each format: its grammar, and what it says of every fault.
#include "data/format.h"

#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "data_test.h"

namespace ps::formats_test {

using testing::ElementsAre;
using testing::IsEmpty;

class Formats : public DataTest {};

TEST_F(Formats, LibsvmTakesWeightsGroupsCommentsBlankLinesAndMissingValues) {
  std::string text =
      "\xef\xbb\xbf"
      "1 3:0.5 7\r\n"
      "\n"
      "  # nothing here\n"
      "-1:2 qid:12 3:-1e-2\t3:4 # 9:9\n"
      "+0.5\n"
      "  2   5:1  ";
  EXPECT_THAT(read(options_for("libsvm", 8), text),
              ElementsAre("1*1@0 features:3=0.5,7=1", "-1*2@12 features:3=-0.01,3=4",
                          "0.5*1@0 features:", "2*1@0 features:5=1"));
}

TEST_F(Formats, WithoutLabelsTheirPlaceIsLeftOutAndEveryFeatureIsTaken) {
  DataOptions libsvm = options_for("libsvm", 8);
  libsvm.labels = false;
  EXPECT_THAT(read(libsvm, "1:1 2:1\nqid:4 3:0.5\n7\n"),
              ElementsAre("0@0 features:1=1,2=1", "0@4 features:3=0.5", "0@0 features:7=1"));
  DataOptions binary = options_for("paddle_sparse_binary", 8);
  binary.labels = false;
  EXPECT_THAT(read(binary, "0,5 1,7 1\n1\n"), ElementsAre("0 features:5,7", "0 features:"));
  DataOptions values = options_for("paddle_sparse_float", 8);
  values.labels = false;
  EXPECT_THAT(read(values, "5 0.25,7 3\n1 2\n"), ElementsAre("0 features:5=0.25,7=3", "0 features:1=2"));
  DataOptions slots = options_for("multislot");
  slots.slots = {{"a"}, {"label"}, {"b"}};
  slots.label_slot = "label";
  EXPECT_THAT(read(slots, "2 5 6 1 1 1 7\n"), ElementsAre("1 a:5,6 b:7"));
  slots.labels = false;
  EXPECT_THAT(read(slots, "2 5 6 1 7\n1 3 0\n"), ElementsAre("0 a:5,6 b:7", "0 a:3 b:"));
  EXPECT_THAT(error_of(options_for("records"), ""), testing::Not(testing::HasSubstr("labels")));
  DataOptions text = options_for("text");
  text.labels = false;
  EXPECT_THAT(error_of(text, "a b c\n"), testing::HasSubstr("files of format 'text' always have labels"));
}

TEST_F(Formats, WithoutLabelsFormatsAreRecognised) {
  DataOptions options = options_for("auto");
  options.labels = false;
  EXPECT_EQ(recognize_format(options, "1:1 2:1\n", "data").name, "libsvm");
  EXPECT_EQ(recognize_format(options, "0,5 1\n", "data").name, "paddle_sparse_binary");
  EXPECT_EQ(recognize_format(options, "5 0.25,7 3\n", "data").name, "paddle_sparse_float");
}

TEST_F(Formats, WhatMayBeALabelOrAFeatureIsRefusedWhereLabelsAreNotNeeded) {
  DataOptions options = options_for("libsvm", 8);
  options.label_use = LabelUse::kIgnored;
  EXPECT_THAT(error_of(options, "1:1 2:1\n"), testing::HasSubstr("2: '1:1' at the beginning of a line"));
  EXPECT_THAT(read(options, "1 2:1\n"), ElementsAre("1 features:2"));
  options.labels = true;
  EXPECT_THAT(read(options, "1:2 2:1\n"), ElementsAre("1*2 features:2"));
}

TEST_F(Formats, TrainingRefusesLinesOfCriteoWithoutLabels) {
  std::string line = "1";
  for (int i = 1; i < 39; ++i) line += '\t';
  DataOptions options = options_for("criteo");
  EXPECT_EQ(error_of(options, line + "\n"), "");
  options.label_use = LabelUse::kNeeded;
  EXPECT_THAT(error_of(options, line + "\n"), testing::HasSubstr("no label"));
}

TEST_F(Formats, LibsvmIndexBaseOneMovesIdsDown) {
  DataOptions options = options_for("libsvm", 3);
  options.index_base = 1;
  EXPECT_THAT(read(options, "1 1:1 3:1\n"), ElementsAre("1 features:0,2"));
  EXPECT_EQ(error_of(options, "1 0:1\n"), "3: data:1: id 0 is below index_base 1");
  EXPECT_EQ(error_of(options, "1 4:1\n"), "3: data:1: id 3 is outside dim 3");
}

TEST_F(Formats, LibsvmNamesLineAndFault) {
  DataOptions options = options_for("libsvm", 20);
  EXPECT_EQ(error_of(options, "1 1:1\n\n1 17:abc\n"), "3: data:3: value 'abc' of key 17 is not a number");
  EXPECT_EQ(error_of(options, "1 17:\n"), "3: data:1: value '' of key 17 is not a number");
  EXPECT_EQ(error_of(options, "1 17:1.5x 3:1\n"), "3: data:1: value '1.5x' of key 17 is not a number");
  EXPECT_EQ(error_of(options, "1 17:0x10\n"), "3: data:1: value '0x10' of key 17 is not a number");
  EXPECT_EQ(error_of(options, "1 17:nan\n"), "3: data:1: value 'nan' of key 17 is not finite");
  EXPECT_EQ(error_of(options, "1 17:-Inf\n"), "3: data:1: value '-Inf' of key 17 is not finite");
  EXPECT_EQ(error_of(options, "1 17:1e39\n"), "3: data:1: value '1e39' of key 17 is not finite");
  EXPECT_EQ(error_of(options, "1 20:1\n"), "3: data:1: id 20 is outside dim 20");
  EXPECT_EQ(error_of(options, "1 -3:1\n"), "3: data:1: id '-3' is not a number");
  EXPECT_EQ(error_of(options, "1 18446744073709551616:1\n"),
            "3: data:1: id '18446744073709551616' is not a number");
  EXPECT_EQ(error_of(options, "x 1:1\n"), "3: data:1: label 'x' is not a number");
  EXPECT_EQ(error_of(options, "1:w 1:1\n"), "3: data:1: weight 'w' is not a number");
  EXPECT_EQ(error_of(options, "1:-2 1:1\n"), "3: data:1: weight '-2' is negative");
  EXPECT_EQ(error_of(options, "1 qid:x 1:1\n"), "3: data:1: 'qid:x 1:1' is not a qid:number");
}

TEST_F(Formats, AnyIdOf64BitsIsTakenWithoutDim) {
  EXPECT_THAT(read(options_for("libsvm"), "1 18446744073709551615:1\n"),
              ElementsAre("1 features:18446744073709551615"));
}

TEST_F(Formats, DenseFeaturesAddUpAndMissingOnesAreZero) {
  DataOptions options = options_for("libsvm", 3);
  options.dense = true;
  EXPECT_THAT(read(options, "1 2:5 0:1 2:0.5\n0\n"), ElementsAre("1 features:1,0,5.5", "0 features:0,0,0"));
  EXPECT_EQ(error_of(options, "1 2:3e38 2:3e38\n"),
            "3: data:1: the sum of the values of key 2 is not finite");
}

TEST_F(Formats, PaddleSparseBinaryReadsTheDemosLines) {
  DataOptions options = options_for("paddle_sparse_binary", 18182296);
  EXPECT_THAT(read(options, "0,0,14367309 1,18004380 1,5 1\n0,1\n"),
              ElementsAre("0 features:14367309,18004380,5", "1 features:"));
  EXPECT_EQ(error_of(options, "0,1,18182296 1\n"), "3: data:1: id 18182296 is outside dim 18182296");
  EXPECT_EQ(error_of(options, "0\n"), "3: data:1: no label after the flag");
  EXPECT_EQ(error_of(options, "0,x,1 1\n"), "3: data:1: label 'x' is not a number");
  EXPECT_EQ(error_of(options, "0,99999999,1 1\n"), "3: data:1: label 99999999 is larger than 16777216");
  EXPECT_EQ(error_of(options, "a,1,1 1\n"), "3: data:1: flag 'a' is not a number");
  EXPECT_EQ(error_of(options, "0,1,5 2\n"), "3: data:1: no ' 1' after id 5");
  EXPECT_EQ(error_of(options, "0,1,5\n"), "3: data:1: no ' 1' after id 5");
  EXPECT_EQ(error_of(options, "0,1,5 1,\n"), "3: data:1: id '' is not a number");
  EXPECT_EQ(error_of(options, "0,1,5x 1\n"), "3: data:1: id '5x' is not a number");
}

TEST_F(Formats, PaddleSparseFloatReadsTheDemosLines) {
  DataOptions options = options_for("paddle_sparse_float", 100);
  EXPECT_THAT(read(options, "12.5,3 0.010000,99 -5\n7\n"),
              ElementsAre("12.5 features:3=0.01,99=-5", "7 features:"));
  EXPECT_EQ(error_of(options, "1,100 1\n"), "3: data:1: id 100 is outside dim 100");
  EXPECT_EQ(error_of(options, "1,7\n"), "3: data:1: no value after id 7");
  EXPECT_EQ(error_of(options, "1,7 x\n"), "3: data:1: value 'x' of key 7 is not a number");
  EXPECT_EQ(error_of(options, "1,7 1 2\n"), "3: data:1: value '1' of key 7 is not a number");
  EXPECT_EQ(error_of(options, "nan,7 1\n"), "3: data:1: label 'nan' is not finite");
}

static DataOptions multislot() {
  DataOptions options = options_for("multislot");
  options.slots = {
      {"age", "dense", 2}, {"city", "sparse", 1000}, {"click", "dense", 1}, {"words", "sparse", 0}};
  options.label_slot = "click";
  return options;
}

TEST_F(Formats, MultislotReadsTheSlotsOfTheSchema) {
  EXPECT_THAT(read(multislot(), "2 0.5 -1 1 17 1 1 3 5 5 18446744073709551615 \t\r\n2 1 2 0 1 0 1 9\n"),
              ElementsAre("1 age:0.5,-1 city:17 words:5,5,18446744073709551615", "0 age:1,2 city: words:9"));
}

TEST_F(Formats, MultislotReadsTheSameHoweverBlanksAndZerosStand) {
  std::string expected = "1 age:1,2 city:17,999 words:1,2,3,4,5,6,7,8,99999999";
  for (std::string_view line :
       {"2 1 2 2 17 999 1 1 9 1 2 3 4 5 6 7 8 99999999", " 2 1 2 2 17 999 1 1 9 1 2 3 4 5 6 7 8 99999999 ",
        "2 1 2  2 17 999\t1 1 9 1 2 3 4 5 6 7  8 99999999",
        "2 1 2 2  17 999 1 \t1 9\t1 2 3 4 5 6 7 8 99999999",
        "02 1 2 02 017 0000000999 01 1 09 1 2 3 4 5 6 7 8 099999999 \r"}) {
    EXPECT_THAT(read(multislot(), cat(line, "\n")), ElementsAre(expected)) << line;
  }
}

// A bad line leaves nothing behind in the slots that it had filled.
TEST_F(Formats, MultislotLeavesBadLinesOutWhole) {
  DataOptions options = multislot();
  options.max_bad_lines = 2;
  EXPECT_THAT(read(options, "2 1 2 3 17 18 1000 1 1 1 5\n2 1 2 2 3 4 1 0 1 6\n2 1 2 3 7 8 9 1 0 2 6 x\n"),
              ElementsAre("0 age:1,2 city:3,4 words:6"));
}

TEST_F(Formats, MultislotTakesTheLastSlotAsLabelUnlessTold) {
  DataOptions options = multislot();
  options.label_slot.clear();
  EXPECT_THAT(read(options, "2 0 0 1 17 1 1 1 5\n"), ElementsAre("5 age:0,0 city:17 click:1"));
}

TEST_F(Formats, MultislotNamesTheSlotThatIsWrong) {
  EXPECT_EQ(error_of(multislot(), "3 1 2 3\n"), "3: data:1: slot 'age' has 3 values, expected 2");
  EXPECT_EQ(error_of(multislot(), "2 1 x\n"), "3: data:1: value 'x' of slot 'age' is not a number");
  EXPECT_EQ(error_of(multislot(), "2 1 2 1\n"), "3: data:1: the line ends within slot 'city'");
  EXPECT_EQ(error_of(multislot(), "2 1 2 1 3\n"), "3: data:1: the line ends before slot 'click'");
  EXPECT_EQ(error_of(multislot(), "2 1 2 -1\n"), "3: data:1: count of slot 'city' '-1' is not a number");
  EXPECT_EQ(error_of(multislot(), "2 1 2 1 1000\n"), "3: data:1: id 1000 is outside dim 1000");
  EXPECT_EQ(error_of(multislot(), "2 1 2 1 1.5\n"), "3: data:1: id '1.5' of slot 'city' is not a number");
  EXPECT_EQ(error_of(multislot(), "2 1 2 1 3 2 0 1 1 1\n"),
            "3: data:1: slot 'click' is the label and has 2 values, expected 1");
  EXPECT_EQ(error_of(multislot(), "2 1 2 1 3 1 0 1 1 7\n"), "3: data:1: '7' after the last slot");
  EXPECT_EQ(error_of(multislot(), "2 1 2 18446744073709551615 1\n"),
            "3: data:1: the line ends within slot 'city'");
  EXPECT_EQ(error_of(options_for("multislot"), "1 1\n"),
            "2: data.slots: format 'multislot' needs the slots of a line, the label among them");
}

// A line of Criteo: the given beginning, then fields "1", "", "" …, to the given number of columns.
static std::string criteo_line(std::string line, int columns, std::string_view category = "") {
  int found = static_cast<int>(split(line, '\t').size());
  for (; found < columns; ++found) line += cat("\t", found == columns - 1 ? category : "");
  return line + "\n";
}

TEST_F(Formats, CriteoHashesColumnAndCategoryAndTakesMissingFields) {
  DataOptions options = options_for("criteo", 1000);
  std::vector<std::string> examples = read(options, criteo_line("1\t5\t-3", 40, "05db9164"));
  std::string sparse;
  for (int i = 1; i <= 25; ++i) sparse += cat(" C", i, ":");
  ASSERT_THAT(examples, ElementsAre(cat("1 integers:5,-3,0,0,0,0,0,0,0,0,0,0,0", sparse,
                                        " C26:", hash_bytes("05db9164", 26) % 1000)));
}

TEST_F(Formats, CriteoTakesLinesWhoseLastTabsWereTrimmed) {
  const std::string whole = criteo_line("1\t5\t-3", 40);
  DataOptions options = options_for("criteo");
  const std::vector<std::string> expected = read(options, whole);
  for (size_t size = whole.find("-3") + 2; size < whole.size(); ++size)
    ASSERT_EQ(read(options, whole + whole.substr(0, size) + "\n").back(), expected[0]) << size;
  EXPECT_EQ(error_of(options, whole + "1 3:1\n"), "3: data:2: label '1 3:1' is not 0 or 1");
  EXPECT_EQ(error_of(options, whole + criteo_line("1", 41)), "3: data:2: found 41 columns, expected 40");
  options.labels = true;
  EXPECT_EQ(read(options, "1\t5\t-3\n"), expected) << "the first line is trimmed too";
  options.labels = false;
  EXPECT_THAT(read(options, "7\n"), ElementsAre(testing::StartsWith("0 integers:7,0,0")));
}

// A line of Criteo with the given fields, by their columns from 0, and nothing in the others.
static std::string criteo_fields(const std::map<int, std::string>& fields) {
  std::string line = "1";
  for (int column = 1; column < 40; ++column)
    line += cat("\t", fields.contains(column) ? fields.at(column) : "");
  return line + "\n";
}

TEST_F(Formats, CriteoTakesWholeNumbersOfAnyLength) {
  std::string line = criteo_fields(
      {{1, "1234567"}, {2, "-1234567"}, {3, "12345678"}, {4, "-12345678"}, {5, "-0"}, {13, "007"}});
  std::string integers = "integers:1234567,-1234567,12345678,-12345678,0,0,0,0,0,0,0,0,7 ";
  EXPECT_THAT(read(options_for("criteo"), line), ElementsAre(testing::HasSubstr(integers)));
  for (std::string_view wrong : {"-", "+1", "--1", "1-", "1 ", " 1", "0x1", "1.0", "12345678x", "\x7f"}) {
    EXPECT_EQ(error_of(options_for("criteo"), criteo_fields({{1, "1"}, {13, std::string(wrong)}})),
              cat("3: data:1: integer ", quote(wrong), " of column I13 is not a whole number"));
  }
}

TEST_F(Formats, CriteoCategoriesOfAnyLengthAreTheHashOfTheirBytes) {
  // The last one is of bytes that are near a tab by their bits.
  std::vector<std::string> categories = {"05db9164", "", "12345678", "a", "\x89\x08\x0b\x7f\xff\x01zz"};
  for (std::string_view odd : {"", "1234567", "123456789", "a category of some length, which is allowed"}) {
    std::map<int, std::string> fields;
    std::string expected;
    for (int i = 1; i <= 26; ++i) {
      std::string category = i == 26 ? std::string(odd) : categories[static_cast<size_t>(i) % 5];
      fields[13 + i] = category;
      expected += cat(" C", i, ":");
      if (!category.empty()) expected += cat(hash_bytes(category, static_cast<uint64_t>(i)));
    }
    EXPECT_THAT(read(options_for("criteo"), criteo_fields(fields)), ElementsAre(testing::EndsWith(expected)));
  }
}

TEST_F(Formats, CriteoWithoutLabelsMustBeSoInEveryLine) {
  DataOptions options = options_for("criteo");
  std::string unlabelled = criteo_line("5\t6", 39), labelled = criteo_line("1\t5", 40);
  EXPECT_THAT(read(options, unlabelled + unlabelled)[1], testing::StartsWith("0 integers:5,6,0"));
  EXPECT_EQ(error_of(options, unlabelled + labelled), "3: data:2: found 40 columns, expected 39");
  EXPECT_EQ(error_of(options, labelled + unlabelled), "3: data:2: label '5' is not 0 or 1");
  EXPECT_EQ(error_of(options, criteo_line("2\t5", 40)), "3: data:1: label '2' is not 0 or 1");
  EXPECT_EQ(error_of(options, criteo_line("1\t5\t7.5", 40)),
            "3: data:1: integer '7.5' of column I2 is not a whole number");
}

TEST_F(Formats, TextMakesEveryWordAnExampleOfTheWordsBeforeIt) {
  DataOptions options = options_for("text");
  options.text.context = 2;
  options.text.vocabulary_size = 4;
  // the: 3, cat, dog: 2, saw: 1 has no id of its own.
  EXPECT_THAT(read(options, "The cat\xe2\x80\x94 saw\n\nthe 'dog'. The cat: DOG\n"),
              ElementsAre("1 context:0,0", "2 context:0,1", "0 context:1,2", "1 context:2,0", "3 context:0,1",
                          "1 context:1,3", "2 context:3,1", "3 context:1,2"));
}

TEST_F(Formats, AutoRecognizesWhatALineTells) {
  auto found = [&](std::string_view bytes) {
    BatchReader reader(options_for("auto"), {put_file("data", bytes)}, {});
    return std::string(reader.format());
  };
  EXPECT_EQ(found("0,1,5 1,6 1\n"), "paddle_sparse_binary");
  EXPECT_EQ(found("0,1\n"), "paddle_sparse_binary");
  EXPECT_EQ(found("0.5,1 2.5\n"), "paddle_sparse_float");
  EXPECT_EQ(found("\n# hello\n1 3:1\n"), "libsvm");
  EXPECT_EQ(found("-1:0.5 qid:3 3\n"), "libsvm");
  EXPECT_EQ(found("1\n"), "libsvm");
  EXPECT_EQ(found("\n__label__1 a b\n"), "fasttext");
  EXPECT_EQ(found(criteo_line("1\t5", 40)), "criteo");
  EXPECT_EQ(found(criteo_line("5", 39)), "criteo");
  EXPECT_EQ(
      error_from([&] { found("hello world\n"); }),
      "3: data: cannot tell the format from line 'hello world'; name it, one of records, jsonl, fasttext, "
      "multislot, criteo, paddle_sparse_binary, paddle_sparse_float, libsvm, vw, text, csv, tsv");
  EXPECT_EQ(error_from([&] { found("\n\n"); }).substr(0, 42), "3: data: cannot tell the format from line ");
  EXPECT_EQ(error_from([&] { found(""); }), "3: data: no data, so that the format is unknown");
}

TEST_F(Formats, AutoIsMultislotWithSlotsAndTextWithAVocabulary) {
  DataOptions options = multislot();
  options.format = "auto";
  EXPECT_EQ(BatchReader(options, {put_file("data", "2 1 2 1 3 1 0 1 1\n")}, {}).format(), "multislot");
  DataOptions text = options_for("auto");
  text.text.vocabulary = put_file("words", "hello 1\n");
  EXPECT_EQ(BatchReader(text, {put_file("data", "hello world\n")}, {}).format(), "text");
}

TEST_F(Formats, EveryFormatTakesAnEmptyFile) {
  for (const FormatEntry* format : format_catalog()) {
    DataOptions options = multislot();
    options.format = format->name;
    options.csv.learnt = true;
    if (format->name == "vw") options.slots = {{"a"}, {"b"}};
    EXPECT_THAT(read(options, ""), IsEmpty()) << format->name;
  }
}

}  // namespace ps::formats_test
