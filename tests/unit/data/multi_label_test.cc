// Examples with any number of labels: data.multi_label.
#include "base/hash.h"
#include "base/text.h"
#include "data/look.h"
#include "data_test.h"

namespace ps::multi_label_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

DataOptions sets_of(const std::string& format) {
  DataOptions options = options_for(format);
  options.multi_label = true;
  return options;
}

DataOptions table(const std::string& format, std::vector<std::string> classes) {
  DataOptions options = sets_of(format);
  options.csv.label = "tags";
  options.csv.classes = std::move(classes);
  CsvColumn column;
  column.name = "n";
  column.type = "number";
  column.scale = column.missing = "none";
  options.csv.columns = {column};
  options.csv.learnt = true;
  return options;
}

}  // namespace

class MultiLabel : public DataTest {
 protected:
  static Key id(std::string_view word) { return hash_bytes(word, hash_bytes("features")); }

  // Reads with a check of labels below 8, and gives the number of examples.
  std::string error_of_checked(const DataOptions& options, std::string_view bytes) {
    return error_from([&] {
      BatchReader reader(options, {put_file("data", bytes)}, {});
      reader.check_labels([](float label) {
        if (label >= 8) fail(Code::kData, "label ", label, " is not a class of 8");
      });
      reader.begin_pass(0);
      Batch batch;
      while (reader.next(batch)) {
      }
    });
  }
};

TEST_F(MultiLabel, OfLibsvmHasCommasBetween) {
  const std::string bytes = "3,7 1:0.5 2\n5 4:2\n 1:1 3\n2:1\n0,0 # nothing\n";
  const std::vector<std::string> expected = {
      "0 features:1=0.5,2=1 labels:3,7", "0 features:4=2 labels:5",
      "0 features:1=1,3=1 labels:", "0 features:2=1 labels:", "0 features: labels:0,0"};
  EXPECT_EQ(read(sets_of("libsvm"), bytes), expected);
  EXPECT_EQ(read(sets_of("auto"), bytes), expected);
  DataOptions unlabelled = sets_of("libsvm");
  unlabelled.labels = false;
  unlabelled.label_use = LabelUse::kIgnored;
  EXPECT_THAT(read(unlabelled, "3 1:0.5\n"), ElementsAre("0 features:3=1,1=0.5 labels:"));
}

TEST_F(MultiLabel, OfFastTextIsOfSeveralWords) {
  DataOptions options = sets_of("auto");
  options.fasttext.classes = {"a", "b", "c"};
  EXPECT_THAT(read(options, "__label__c __label__a x\ny\n__label__b\n"),
              ElementsAre(cat("0 features:", id("x"), " labels:2,0"), cat("0 features:", id("y"), " labels:"),
                          "0 features: labels:1"));
  EXPECT_THAT(error_of(options, "__label__d x\n"), HasSubstr("label 'd' is none of data.fasttext.classes"));
  options.label_use = LabelUse::kIgnored;
  EXPECT_THAT(read(options, "__label__d __label__b x\n"),
              ElementsAre(cat("0 features:", id("x"), " labels:1")));
  EXPECT_THAT(read(sets_of("fasttext"), "__label__12 x __label__5\n"),
              ElementsAre(cat("0 features:", id("x"), " labels:12,5")));
  EXPECT_THAT(error_of(sets_of("fasttext"), "__label__1.5 x\n"),
              HasSubstr("label '__label__1.5' is no class"));
}

TEST_F(MultiLabel, OfMultislotIsTheValuesOfTheLabelsSlot) {
  DataOptions options = sets_of("multislot");
  options.slots = {{"a", "sparse", 0}, {"tags", "sparse", 0}, {"b", "dense", 2}};
  options.label_slot = "tags";
  EXPECT_THAT(read(options, "1 5 2 3 1 2 0.5 1\n1 6 0 2 2 3\n"),
              ElementsAre("0 a:5 b:0.5,1 labels:3,1", "0 a:6 b:2,3 labels:"));
  options.labels = false;
  options.label_use = LabelUse::kIgnored;
  EXPECT_THAT(read(options, "1 5 2 0.5 1\n"), ElementsAre("0 a:5 b:0.5,1 labels:"));
}

TEST_F(MultiLabel, OfTablesIsTheWordsOfTheLabelsColumn) {
  const std::vector<std::string> expected = {"0 n:1 labels:1,0", "0 n:2 labels:", "0 n:3 labels:1"};
  EXPECT_EQ(read(table("csv", {"x", "y"}), "n,tags\n1,y|x\n2,\n3,y\n"), expected);
  EXPECT_EQ(
      read(table("jsonl", {"x", "y"}),
           "{\"n\": 1, \"tags\": [\"y\", \"x\"]}\n{\"n\": 2, \"tags\": []}\n{\"tags\": \"y\", \"n\": 3}\n"),
      expected);
  EXPECT_EQ(read(table("csv", {}), "tags,n\n1|0,1\n,2\n1,3\n"), expected);
  EXPECT_THAT(error_of(table("csv", {"x", "y"}), "n,tags\n1,y|z\n"), HasSubstr("label 'z' is none of x, y"));
  DataOptions separated = table("csv", {"x", "y|z"});
  separated.csv.label_separator = ";";
  EXPECT_THAT(read(separated, "n,tags\n1,y|z;x\n2,\n"), ElementsAre("0 n:1 labels:1,0", "0 n:2 labels:"));
  EXPECT_THAT(error_of(separated, "n,tags\n1,x|y\n"), HasSubstr("label 'x|y' is none of x, y|z"));
  DataOptions predicting = table("csv", {"x", "y"});
  predicting.label_use = LabelUse::kIgnored;
  EXPECT_THAT(read(predicting, "n\n1\n"), ElementsAre("0 n:1 labels:"));
}

TEST_F(MultiLabel, OfTablesLearnsItsClasses) {
  const auto learnt = [&](const std::string& bytes) {
    DataOptions options = sets_of("csv");
    const std::string path = put_file("table.csv", bytes);
    const DataLook look = look_at_data(options, {path}, {});
    EXPECT_TRUE(look.labels);
    EXPECT_EQ(look.seen.size(), 1u);
    return std::pair(look.csv->classes, look.labels->largest_key);
  };
  EXPECT_EQ(learnt("n,label\n1,red|blue\n2,\n3,red|green\n"),
            std::pair(std::vector<std::string>{"blue", "green", "red"}, Key{2}));
  EXPECT_EQ(learnt("n,label\n1,4|11\n2,\n3,0\n"), std::pair(std::vector<std::string>{}, Key{11}))
      << "labels are numbers";
}

namespace {

DataOptions label_columns(const std::string& format) {
  DataOptions options = table(format, {"spam", "colour=blue", "colour=red"});
  options.csv.label.clear();
  options.csv.labels = {"spam", "colour"};
  return options;
}

}  // namespace

TEST_F(MultiLabel, OfSeveralColumnsIsAClassOfEachTruthAndOfEachWord) {
  const std::vector<std::string> expected = {"0 n:1 labels:0,2", "0 n:2 labels:1,2", "0 n:3 labels:"};
  EXPECT_EQ(read(label_columns("csv"), "spam,n,colour\n1,1,red\nno,2,blue|red\n,3,NA\n"), expected);
  EXPECT_EQ(read(label_columns("csv"), "spam,n,colour\nTrue,1,red\n-1,2,blue|red\n0.0,3,\n"), expected);
  EXPECT_EQ(read(label_columns("jsonl"),
                 "{\"n\": 1, \"colour\": \"red\", \"spam\": true}\n"
                 "{\"n\": 2, \"colour\": [\"blue\", \"red\"], \"spam\": 0}\n{\"n\": 3, \"spam\": null}\n"),
            expected);
  EXPECT_THAT(error_of(label_columns("csv"), "spam,n,colour\n2,1,red\n"),
              HasSubstr("value '2' of label column 'spam' is none of 1, 0, true, false, yes, no"));
  EXPECT_THAT(error_of(label_columns("csv"), "spam,n,colour\n1,1,green\n"),
              HasSubstr("value 'green' of label column 'colour' is no class"));
  EXPECT_THAT(error_of(label_columns("csv"), "spam,n\n1,1\n"), HasSubstr("there is no column 'colour'"));
  DataOptions predicting = label_columns("csv");
  predicting.label_use = LabelUse::kIgnored;
  EXPECT_THAT(read(predicting, "n\n1\n"), ElementsAre("0 n:1 labels:"));
  EXPECT_THAT(read(predicting, "n,colour,spam\n1,green,7\n"), ElementsAre("0 n:1 labels:"));
  DataOptions other = label_columns("csv");
  other.csv.classes = {"spam"};
  EXPECT_THAT(error_of(other, "spam,n,colour\n1,1,red\n"),
              HasSubstr("none is of the label column 'colour': expected 'colour' or 'colour=WORD'"));
}

TEST_F(MultiLabel, OfSeveralColumnsLearnsItsClassesByNamesAndPatterns) {
  const auto learnt = [&](std::vector<std::string> labels, const std::string& bytes) {
    DataOptions options = sets_of("csv");
    options.csv.labels = std::move(labels);
    const DataLook look = look_at_data(options, {put_file("table.csv", bytes)}, {});
    EXPECT_TRUE(look.labels);
    EXPECT_EQ(look.csv->columns.size(), 1u);
    EXPECT_EQ(look.labels->schema.dim, std::ssize(look.csv->classes));
    return *look.csv;
  };
  const CsvOptions named = learnt({"hue", "is_spam"}, "n,is_spam,hue\n1,0,red\n2,1,\n3,,blue|red\n");
  EXPECT_THAT(named.classes, ElementsAre("is_spam", "hue=blue", "hue=red")) << "in the order of the table";
  EXPECT_THAT(named.label, IsEmpty());
  const CsvOptions matched = learnt({"is_*"}, "is_spam,n,is_ham,is_odd\n1,5,no,\n0,6,yes,\n");
  EXPECT_THAT(matched.labels, ElementsAre("is_spam", "is_ham", "is_odd"));
  EXPECT_EQ(matched.classes, matched.labels) << "a column without a value is a class too";
  EXPECT_THAT(error_from([&] { learnt({"is_"}, "n,is\n1,0\n"); }),
              HasSubstr("data.csv.labels: there is no column 'is_'"));
}

TEST_F(MultiLabel, ALineWithALabelThatIsNoClassIsABadLine) {
  EXPECT_THAT(error_of_checked(sets_of("libsvm"), "3,7 1:1\n0 2:1\n7,8 1:1\n"),
              HasSubstr("data:3: label 8 is not a class of 8"));
  EXPECT_THAT(error_of_checked(table("csv", {}), "n,tags\n1,7\n2,5|9\n"),
              HasSubstr("data:3: label 9 is not a class of 8"));
  DataOptions lenient = sets_of("libsvm");
  lenient.max_bad_lines = 1;
  EXPECT_THAT(error_of_checked(lenient, "3,7 1:1\n7,8 1:1\n0 2:1\n"), IsEmpty());
}

TEST_F(MultiLabel, LabelsStayAsTheyAreWhenIdsAreHashedAndScaled) {
  DataOptions options = sets_of("libsvm");
  options.hash_bits = 4;
  options.unit_length = true;
  const std::string line = read(options, "3,7 1:3 2:4\n").at(0);
  EXPECT_THAT(line, testing::EndsWith(" labels:3,7"));
  EXPECT_THAT(line, HasSubstr("=0.6"));
}

TEST_F(MultiLabel, IsRefusedWhereAFormatHasNoPlaceForIt) {
  EXPECT_THAT(error_of(sets_of("vw"), "1 | a\n"),
              HasSubstr("data.multi_label: format 'vw' has one label an example; several have "));
  DataOptions taken = sets_of("multislot");
  taken.slots = {{"labels", "sparse", 0}, {"y", "sparse", 0}};
  EXPECT_THAT(error_of(taken, "1 5 1 1\n"), HasSubstr("the data have one of this name"));
}

// Whatever the bytes are, they are refused as bad data or give a batch that is whole.
TEST_F(MultiLabel, DamagedBytesAreRefusedOrTakenWhole) {
  const std::vector<std::pair<DataOptions, std::string>> cases = {
      {sets_of("libsvm"), "3,7 1:0.5 2\n 5 4:2\n1 x\n"},
      {sets_of("fasttext"), "__label__1 __label__2 x\n"},
      {table("csv", {}), "n,tags\n1,4|2\n2,\n"},
      {label_columns("csv"), "spam,n,colour\n1,1,red\nno,2,blue|red\n,3,NA\n"},
      {table("jsonl", {}), "{\"n\": 1, \"tags\": [\"1\", \"0\"]}\n"},
  };
  int tried = 0;
  for (const auto& [options, bytes] : cases) {
    for (size_t bit = 0; bit < 8 * bytes.size(); bit += 5, ++tried) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      error_from([&, damaged, given = options] {
        BatchReader reader(given, {put_file("data", damaged)}, {});
        reader.begin_pass(0);
        Batch batch;
        while (reader.next(batch)) check_batch(batch, reader.schema());
      });
    }
  }
  EXPECT_GT(tried, 100);
}

}  // namespace ps::multi_label_test
