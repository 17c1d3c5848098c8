// Columns of tables that are labels of their own, each for a cost that names it: data.csv.labels without data.multi_label.
#include "data/look.h"
#include "data_test.h"

namespace ps::own_labels_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OwnLabelColumns : public DataTest {
 protected:
  static DataOptions table(const std::string& format) {
    DataOptions options = options_for(format);
    options.csv.labels = {"click", "price", "kind"};
    options.csv.classes = {"click", "kind=book", "kind=film"};
    CsvColumn column;
    column.name = "n";
    column.type = "number";
    column.scale = column.missing = "none";
    options.csv.columns = {column};
    options.csv.learnt = true;
    return options;
  }

  CsvOptions learnt(std::vector<std::string> labels, const std::string& bytes) {
    DataOptions options = options_for("csv");
    options.csv.labels = std::move(labels);
    return *look_at_data(options, {put_file("table.csv", bytes)}, {}).csv;
  }
};

TEST_F(OwnLabelColumns, GiveEachExampleATruthANumberAndAClassWhereTheyHaveAValue) {
  const std::vector<std::string> expected = {"1 n:1 click:0=1 price:0=2.5 kind:0=1",
                                             "0 n:2 click:0=0 price: kind:0=0",
                                             "0 n:3 click: price:0=-1 kind:"};
  EXPECT_EQ(read(table("csv"), "click,n,kind,price\nyes,1,film,2.5\n0,2,book,NA\n,3,,-1\n"), expected);
  EXPECT_EQ(read(table("tsv"), "n\tkind\tprice\tclick\n1\tfilm\t2.5\ttrue\n2\tbook\t\tno\n3\t\t-1\t\n"),
            expected);
  EXPECT_EQ(
      read(table("jsonl"),
           "{\"n\": 1, \"kind\": \"film\", \"click\": true, \"price\": 2.5}\n"
           "{\"click\": 0, \"n\": 2, \"kind\": \"book\", \"price\": null}\n{\"price\": -1, \"n\": 3}\n"),
      expected);
}

TEST_F(OwnLabelColumns, AreNotNeededToPredictAndDoNotChangeWithTheFeatures) {
  DataOptions predicting = table("csv");
  predicting.label_use = LabelUse::kIgnored;
  const std::vector<std::string> none = {"0 n:1 click: price: kind:"};
  EXPECT_EQ(read(predicting, "n\n1\n"), none);
  EXPECT_EQ(read(predicting, "n,click,price,kind\n1,maybe,dear,song\n"), none);
  predicting.format = "jsonl";
  EXPECT_EQ(read(predicting, "{\"n\": 1}\n"), none);
  predicting.labels = false;
  EXPECT_EQ(read(predicting, "{\"n\": 1}\n"), none);
  DataOptions changed = table("csv");
  changed.log_counts = changed.unit_length = true;
  EXPECT_THAT(read(changed, "n,click,price,kind\n3,1,7,film\n"),
              ElementsAre("1 n:1 click:0 price:0=7 kind:0"));
}

TEST_F(OwnLabelColumns, OfWrongValuesAreBadLines) {
  const auto error = [&](const std::string& row) {
    return error_of(table("csv"), "n,click,price,kind\n" + row);
  };
  EXPECT_THAT(error("1,2,3,film\n"), HasSubstr("value '2' of label column 'click' is none of 1, 0, true"));
  EXPECT_THAT(error("1,1,dear,film\n"), HasSubstr("value 'dear' of label column 'price' is no number"));
  EXPECT_THAT(error("1,1,1e99,film\n"), HasSubstr("value '1e99' of label column 'price' is no number"));
  EXPECT_THAT(error("1,1,3,song\n"), HasSubstr("value 'song' of label column 'kind' is no class"));
  EXPECT_THAT(error_of(table("csv"), "n,click,price\n1,1,3\n"), HasSubstr("there is no column 'kind'"));
  EXPECT_THAT(error_of(table("jsonl"), "{\"n\": 1, \"price\": [3]}\n"),
              HasSubstr("label column 'price' takes one value, found a list"));
  DataOptions lenient = table("csv");
  lenient.max_bad_lines = 1;
  EXPECT_THAT(read(lenient, "n,click,price,kind\n1,0,3,song\n2,1,4,book\n"),
              ElementsAre("1 n:2 click:0 price:0=4 kind:0=0"))
      << "nothing of the bad line stays";
}

TEST_F(OwnLabelColumns, LearnTheirClassesAndKeepTheOrderInWhichTheyAreNamed) {
  const CsvOptions csv = learnt({"price", "is_*", "kind"},
                                "kind,n,is_new,price,is_old\nfilm,1,yes,2.5,1\nbook,2,no,,0\nsong,3,,7,1\n");
  EXPECT_THAT(csv.labels, ElementsAre("price", "is_new", "is_old", "kind"));
  EXPECT_THAT(csv.classes, ElementsAre("is_new", "kind=book", "kind=film", "kind=song"));
  EXPECT_EQ(csv.columns.size(), 1u);
  EXPECT_THAT(csv.label, IsEmpty());
  EXPECT_THAT(error_from([&] { learnt({"prize"}, "n,price\n1,0\n"); }),
              HasSubstr("data.csv.labels: there is no column 'prize' (did you mean 'price'?)"));
}

}  // namespace ps::own_labels_test
