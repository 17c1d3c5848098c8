// The formats csv and tsv: fields, columns of all types, and every fault.
#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "config/json.h"
#include "config/spec.h"
#include "data/csv/fields.h"
#include "data/csv/learn.h"
#include "data/csv/word_numbers.h"
#include "data/look.h"
#include "data_test.h"
#include "support/environment.h"

namespace ps::csv_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The fields of a record in brackets, or the error.
static std::string cut(const std::string& record, const CsvDialect& dialect = {',', '"', 0}) {
  const std::string padded = record + std::string(16, ',');
  CsvFields fields(dialect);
  try {
    fields.cut(padded.data(), padded.data() + record.size());
  } catch (const Error& error) {
    return error.message();
  }
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) out += cat("[", fields[i], "]");
  return out;
}

TEST(CsvFields, AreCutAtSeparatorsWithoutTheBlanksAroundThem) {
  EXPECT_EQ(cut("a,b,,c"), "[a][b][][c]");
  EXPECT_EQ(cut(""), "[]");
  EXPECT_EQ(cut(","), "[][]");
  EXPECT_EQ(cut(" a , b c,\t"), "[a][b c][]");
  EXPECT_EQ(cut("a long field of more than eight bytes,x,another long field"),
            "[a long field of more than eight bytes][x][another long field]");
  EXPECT_EQ(cut("a;b", {';', 0, 0}), "[a][b]");
  EXPECT_EQ(cut("a\t\tb", {'\t', 0, 0}), "[a][][b]");
}

TEST(CsvFields, KeepWhatIsWithinQuotes) {
  EXPECT_EQ(cut(R"("a,b",c)"), "[a,b][c]");
  EXPECT_EQ(cut(R"("say ""hi""",)"), R"([say "hi"][])");
  EXPECT_EQ(cut("\"two\nlines\",1"), "[two\nlines][1]");
  EXPECT_EQ(cut(R"( "a " , "" )"), "[a ][]");
  EXPECT_EQ(cut(R"(5" disk,b)"), R"([5" disk][b])") << "a quote opens only where a field begins";
  EXPECT_EQ(cut(R"("a\"b\\",c)", {',', '"', '\\'}), R"([a"b\][c])");
  EXPECT_EQ(cut(R"("a",b)", {',', 0, 0}), R"(["a"][b])");
}

TEST(CsvFields, RefuseQuotesThatMakeNoSense) {
  EXPECT_THAT(cut(R"(a,"b)"), HasSubstr("a quote is not closed"));
  EXPECT_THAT(cut(R"("a"b,c)"), HasSubstr("follows a closing quote"));
}

// The plain way, a byte at a time, says the same.
TEST(CsvFields, AreThoseThatABytewiseReaderFinds) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::string record;
    for (uint64_t i = 0; i < hash_key(seed) % 40; ++i) record += "ab,\x80\xac"[hash_key(seed * 100 + i) % 5];
    std::string expected = "[";
    for (char c : record) expected += c == ',' ? "][" : std::string(1, c);
    EXPECT_EQ(cut(record), expected + "]");
  }
}

TEST(WordIndex, FindsEachWordAndNoOther) {
  for (const size_t size : {0u, 1u, 3u, 20000u}) {
    std::vector<std::string> words, texts;
    for (size_t i = 0; i < size; ++i)
      words.push_back(i == 1 ? "" : cat("a word of some length ", i, std::string(i % 9, 'x')));
    texts = words;
    for (size_t i = 0; i < 1000; ++i) texts.push_back(cat("another ", i));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    std::vector<uint64_t> places(views.size());
    WordIndex(words).find(views, places.data());
    for (size_t i = 0; i < places.size(); ++i) ASSERT_EQ(places[i], std::min(i, size)) << size;
  }
}

class Csv : public DataTest {
 protected:
  static CsvColumn column(const std::string& name, const std::string& type) {
    CsvColumn out;
    out.name = name;
    out.type = type;
    out.scale = "none";
    out.missing = "none";
    return out;
  }

  // The label y, and these columns.
  static DataOptions table(std::vector<CsvColumn> columns) {
    DataOptions options;
    options.format = "csv";
    options.csv.label = "y";
    options.csv.columns = std::move(columns);
    options.csv.learnt = true;
    return options;
  }

  CsvOptions learn(std::string_view bytes, const CsvOptions& csv = {}) {
    DataOptions options;
    options.format = "csv";
    options.csv = csv;
    return learn_table(options, {put_file("table", bytes)}, {}, 1000);
  }

  static const CsvColumn& find(const CsvOptions& csv, const std::string& name) {
    return *std::find_if(csv.columns.begin(), csv.columns.end(),
                         [&](const CsvColumn& c) { return c.name == name; });
  }
};

TEST_F(Csv, NumbersAreScaledAndMissingOnesIndicated) {
  CsvColumn age = column("age", "number");
  age.offset = 10;
  age.divisor = 2;
  age.missing = "indicator";
  EXPECT_THAT(read(table({age}), "age,y\n14,1\n,0\nNA,0\n"),
              ElementsAre("1 age:2,0", "0 age:0,1", "0 age:0,1"));
  age.missing = "none";
  EXPECT_THAT(read(table({age}), "y,age\r\n1,14\r\n0,?\r\n"), ElementsAre("1 age:2", "0 age:0"));
  CsvColumn gain = column("gain", "number");
  gain.scale = "log";
  EXPECT_THAT(read(table({gain}), "y,gain\n1,0\n"), ElementsAre("1 gain:0"));
}

TEST_F(Csv, AColumnsOwnSeparatorIsOneByteWithinALine) {
  const auto refusal = [this](const std::string& separator) {
    return error_from([&] {
      CsvColumn::spec().parse(Json{{"name", "tags"}, {"type", "categories"}, {"separator", separator}},
                              "column");
    });
  };
  EXPECT_EQ(refusal(";"), "");
  EXPECT_THAT(refusal(""), HasSubstr("column.separator: empty, expected one byte"));
  for (const char* other : {"\n", "\r", ";;"})
    EXPECT_THAT(refusal(other), HasSubstr("column.separator: ")) << "not one byte within a line";
}

TEST_F(Csv, ANumberMayStandForNoValue) {
  CsvColumn age = column("age", "number");
  age.missing = "indicator";
  DataOptions told = table({age});
  told.csv.missing_values = {"-999", "-1"};
  EXPECT_THAT(read(told, "age,y\n14,1\n-999,0\n\"-1\",0\n-9990,1\n"),
              ElementsAre("1 age:14,0", "0 age:0,1", "0 age:0,1", "1 age:-9990,0"));
}

TEST_F(Csv, WordsAreHashedWithTheirColumn) {
  CsvColumn job = column("job", "category"), tags = column("tags", "categories");
  const auto hash = [](std::string_view word, std::string_view name) {
    return hash_bytes(word, hash_bytes(name));
  };
  EXPECT_THAT(
      read(table({job, tags}), "job,y,tags\n\"a\",1,a|b||\n,0,\n"),
      ElementsAre(cat("1 job:", hash("a", "job"), " tags:", hash("a", "tags"), ",", hash("b", "tags")),
                  "0 job: tags:"));
}

TEST_F(Csv, IdsOfDictionariesAndBinsCountOnFromColumnToColumn) {
  CsvColumn age = column("age", "number"), job = column("job", "category");
  age.scale = "bins";
  age.edges = {10, 20};
  age.missing = job.missing = "indicator";
  job.dictionary = 5;
  job.words = {"clerk", "smith"};
  const DataOptions options = table({age, job});
  EXPECT_THAT(read(options, "age,job,y\n9,clerk,1\n10,smith,0\n25,other,0\n,,1\n"),
              ElementsAre("1 age:0 job:5", "0 age:1 job:6", "0 age:2 job:4", "1 age:3 job:7"));
  EXPECT_EQ(options.schema("csv").slots[1].dim, 8);
}

TEST_F(Csv, ADictionaryWithIdsOfItsOwnCountsFromZeroAndHasADim) {
  CsvColumn job = column("job", "category"), item = column("item", "category"),
            place = column("place", "category");
  job.dictionary = item.dictionary = 5;
  job.words = {"clerk", "smith"};
  item.words = {"tea", "rye", "ale"};
  item.own_ids = true;
  item.missing = "indicator";
  DataOptions options = table({job, item});
  EXPECT_THAT(read(options, "job,item,y\nclerk,tea,1\nsmith,ale,0\nother,other,0\nclerk,,1\n"),
              ElementsAre("1 job:1 item:1", "0 job:2 item:3", "0 job:0 item:0", "1 job:1 item:4"));
  EXPECT_EQ(options.schema("csv").slots[0].dim, 4);
  EXPECT_EQ(options.schema("csv").slots[1].dim, 5);
  options = table({item, place, job});
  EXPECT_EQ(options.schema("csv").slots[0].dim, 5) << "also beside columns that are hashed";
  EXPECT_EQ(options.schema("csv").slots[2].dim, 0);
  EXPECT_THAT(read(options, "job,item,place,y\nclerk,tea,,1\n"), ElementsAre("1 item:1 place: job:1"));
}

TEST_F(Csv, BinsBesideANumberAreASlotOfTheirOwn) {
  CsvColumn age = column("age", "number"), job = column("job", "category");
  age.scale = "standard+bins";
  age.offset = 10;
  age.divisor = 2;
  age.edges = {10, 20};
  job.dictionary = 5;
  job.words = {"clerk"};
  DataOptions options = table({age, job});
  EXPECT_THAT(read(options, "job,age,y\nclerk,9,1\nclerk,10,0\nclerk,,1\n"),
              ElementsAre("1 age:-0.5 age.bin:0 job:5", "0 age:0 age.bin:1 job:5", "1 age:0 age.bin: job:5"));
  EXPECT_EQ(options.schema("csv").slots[1].dim, 7);
  options.csv.columns[0].missing = "indicator";
  EXPECT_THAT(read(options, "job,age,y\nclerk,30,1\nclerk,,0\n"),
              ElementsAre("1 age:10,0 age.bin:2 job:5", "0 age:0,1 age.bin:3 job:5"));
}

TEST_F(Csv, LabelsAreWordsWeightsAndGroupsColumns) {
  DataOptions options = table({column("n", "number")});
  options.csv.classes = {"no", "yes"};
  options.csv.weight = "w";
  options.csv.group = "g";
  EXPECT_THAT(read(options, "n,y,w,g\n1,yes,0.5,7\n2,no,1,8\n"), ElementsAre("1*0.5@7 n:1", "0*1@8 n:2"));
  EXPECT_THAT(error_of(options, "n,y,w,g\n1,perhaps,1,1\n"),
              HasSubstr("3: data:2: label 'perhaps' is none of no, yes"));
  EXPECT_THAT(error_of(options, "n,y,w,g\n1,yes,-1,1\n"), HasSubstr("weight '-1' is negative"));
  EXPECT_THAT(error_of(options, "n,y,w,g\n1,,1,1\n"), HasSubstr("the label, column 'y', is missing"));
}

TEST_F(Csv, ToPredictTakesNoLabel) {
  DataOptions options = table({column("n", "number")});
  options.csv.classes = {"no", "yes"};
  EXPECT_THAT(error_of(options, "n\n1\n"), HasSubstr("there is no column 'y'"));
  options.label_use = LabelUse::kIgnored;
  EXPECT_THAT(read(options, "n\n1\n"), ElementsAre("0 n:1"));
  EXPECT_THAT(read(options, "y,n\nmaybe,1\n,2\n"), ElementsAre("0 n:1", "0 n:2"));
}

TEST_F(Csv, FilesWithoutAHeaderHaveNames) {
  DataOptions options = table({column("n", "number")});
  options.csv.names = {"y", "n"};
  EXPECT_THAT(read(options, "1,5\n0,6\n"), ElementsAre("1 n:5", "0 n:6"));
  options.labels = false;
  EXPECT_THAT(read(options, "5\n6\n"), ElementsAre("0 n:5", "0 n:6"));
}

TEST_F(Csv, EveryFileHasItsOwnHeader) {
  const DataOptions options = table({column("n", "number")});
  const std::vector<std::string> paths = {put_file("1", "n,y\n5,1\n"), put_file("2", ""),
                                          put_file("3", "y,x,n\n0,9,6\n")};
  BatchReader reader(options, paths, {});
  EXPECT_THAT(read_batches(reader), ElementsAre("1 n:5\n0 n:6\n"));
}

TEST_F(Csv, QuotedLineEndsDoNotEndARecordWhereverBlocksEnd) {
  DataOptions options = table({column("n", "number")});
  options.csv.columns.push_back(column("text", "ignore"));
  std::string bytes = "n,text,y\n";
  for (int i = 0; i < 60000; ++i) bytes += cat(i % 100, ",\"one\ntwo \"\"", i, "\"\"\nthree\",1\n");
  const std::vector<std::string> examples = read(options, bytes);
  ASSERT_EQ(examples.size(), 60000u);
  for (size_t i = 0; i < examples.size(); ++i) ASSERT_EQ(examples[i], cat("1 n:", i % 100));
  EXPECT_THAT(error_of(options, "n,text,y\n1,\"a\nb\",1\nx,c,0\n"),
              HasSubstr("3: data:4: value 'x' of column 'n'"));
}

TEST_F(Csv, BadRecordsAreNamedAndSkippedUpToTheirNumber) {
  DataOptions options = table({column("n", "number")});
  EXPECT_EQ(error_of(options, "n,y\n1,1\n2\n"), "3: data:3: found 1 columns, expected 2");
  EXPECT_EQ(error_of(options, "n,y\n1e99,1\n"), "3: data:2: value '1e99' of column 'n' is not finite");
  EXPECT_THAT(error_of(options, "n,y\n1,\"a\"b\n"), HasSubstr("3: data:2: 'b' follows a closing quote"));
  EXPECT_THAT(error_of(options, "n,y\n1,1\n2,\"0\n3,1\n"), HasSubstr("3: data:3: a quote is not closed"));
  EXPECT_THAT(error_of(options, "m,y\n1,1\n"), HasSubstr("there is no column 'n'"));
  options.csv.columns[0].divisor = 1e-30;
  EXPECT_THAT(error_of(options, "n,y\n1e30,1\n"), HasSubstr("is not finite once it is scaled"));
  options.csv.columns[0].divisor = 1;
  options.max_bad_lines = 2;
  EXPECT_THAT(read(options, "n,y\n1,1\nx,1\n\n2\n3,0\n"), ElementsAre("1 n:1", "0 n:3"));
}

TEST_F(Csv, WithoutWhatWasLearntItIsRefused) {
  DataOptions options;
  options.format = "csv";
  EXPECT_THAT(error_of(options, "n,y\n1,1\n"), HasSubstr("2: data.csv: nothing is known of the columns"));
}

TEST_F(Csv, TypesScalesAndTheLabelAreFound) {
  const CsvOptions csv = learn("age,job,gain,income\n20,clerk,0,low\n40,smith,0,high\n60,,0,low\n");
  EXPECT_TRUE(csv.learnt);
  EXPECT_EQ(csv.label, "income");
  EXPECT_THAT(csv.classes, ElementsAre("high", "low"));
  EXPECT_EQ(find(csv, "age").scale, "standard");
  EXPECT_EQ(find(csv, "age").offset, 40);
  EXPECT_NEAR(find(csv, "age").divisor, 16.33, 0.01);
  EXPECT_EQ(find(csv, "age").missing, "none");
  EXPECT_EQ(find(csv, "job").type, "category");
  EXPECT_EQ(find(csv, "job").missing, "indicator");
  EXPECT_EQ(find(csv, "gain").divisor, 1) << "all are equal";
}

TEST_F(Csv, NumbersAreTakenFromTheLeastToTheMost) {
  CsvOptions given;
  given.columns = {column("age", "number"), column("same", "number")};
  for (CsvColumn& number : given.columns) number.scale = "min_max";
  const std::string bytes = "age,same,y\n-24,7,1\n40,7,0\n8,7,0\n";
  const CsvOptions csv = learn(bytes, given);
  EXPECT_EQ(find(csv, "age").offset, -24);
  EXPECT_EQ(find(csv, "age").divisor, 64);
  EXPECT_EQ(find(csv, "same").divisor, 1) << "all are equal";
  DataOptions options;
  options.format = "csv";
  options.csv = csv;
  EXPECT_THAT(read(options, bytes), ElementsAre("1 age:0 same:0", "0 age:1 same:0", "0 age:0.5 same:0"));
  EXPECT_THAT(read(options, "age,same,y\n72,8,1\n"), ElementsAre("1 age:1.5 same:1"))
      << "beyond what was learnt";
}

TEST_F(Csv, ValuesThatStandForNoneAreTheOnesThatAreNamed) {
  CsvColumn age = column("age", "number");
  age.missing = "indicator";
  DataOptions options = table({age});
  options.csv.missing_values = {"-", "unknown"};
  EXPECT_THAT(read(options, "age,y\n-,1\nunknown,0\n-3,0\n"),
              ElementsAre("1 age:0,1", "0 age:0,1", "0 age:-3,0"));
  EXPECT_THAT(error_of(options, "age,y\nNA,1\n"), HasSubstr("NA")) << "it is one by default alone";
  CsvOptions given;
  given.missing_values = {"unknown"};
  const CsvOptions csv = learn("age,job,y\n3,a,1\nunknown,unknown,0\n5,a,0\n", given);
  EXPECT_EQ(find(csv, "age").type, "number") << "not for a word that is no value";
  EXPECT_EQ(find(csv, "age").missing, "indicator");
}

TEST_F(Csv, NumbersFarFromTheOthersAreTakenAsLogarithms) {
  std::string bytes = "y,x\n";
  for (int i = 0; i < 500; ++i) bytes += cat(i % 2, ",", i == 7 ? 1000000 : i % 10, "\n");
  EXPECT_EQ(find(learn(bytes), "x").scale, "log");
  EXPECT_THAT(learn(bytes).classes, IsEmpty()) << "labels are numbers";
  EXPECT_EQ(learn(bytes).label, "y") << "by its name";
}

TEST_F(Csv, BinsHaveAsManyNumbersEachAndWordsCount) {
  CsvOptions given;
  CsvColumn number = column("n", "number"), word = column("w", "category"), some = column("s", "categories");
  number.scale = "bins";
  number.bins = 4;
  word.dictionary = 2;
  some.dictionary = 9;
  some.separator = ";";
  given.columns = {word, number, some};
  std::string bytes = "n,w,s,label\n";
  for (int i = 0; i < 100; ++i)
    bytes += cat(i, ",", i % 3 == 0 ? "often" : i % 3 == 1 ? "also" : cat("w", i), ",x;y,1\n");
  const CsvOptions csv = learn(bytes, given);
  EXPECT_EQ(csv.columns[0].name, "n") << "in the order of the table";
  EXPECT_THAT(find(csv, "n").edges, ElementsAre(25, 50, 75));
  EXPECT_THAT(find(csv, "w").words, ElementsAre("often", "also"));
  EXPECT_THAT(find(csv, "s").words, ElementsAre("x", "y"));
}

TEST_F(Csv, FrequentNumbersHaveBinsOfTheirOwnAndTheOthersShareTheRest) {
  CsvOptions given;
  given.columns = {column("n", "number")};
  given.columns[0].scale = "bins";
  given.columns[0].bins = 4;
  std::string bytes = "n,y\n";
  for (int i = 0; i < 100; ++i) bytes += cat(i < 90 ? 0 : i - 89, ",1\n");
  EXPECT_THAT(find(learn(bytes, given), "n").edges, ElementsAre(1, 5, 8));
}

// 30 records make no two bins of 20 each.
TEST_F(Csv, APatternStandsForTheOtherColumnsAndFewRecordsHaveNoBins) {
  CsvOptions given;
  given.columns = {column("*", "auto"), column("m", "number")};
  given.columns[0].scale = "auto+bins";
  const auto learnt = [&](int records, const std::string& third) {
    std::string bytes = cat("n,m,", third, ",y\n");
    for (int i = 0; i < records; ++i) bytes += cat(i, ",", i, ",w", i % 3, ",1\n");
    return learn(bytes, given);
  };
  const CsvOptions many = learnt(100, "w");
  EXPECT_EQ(find(many, "n").scale, "standard+bins");
  EXPECT_THAT(find(many, "n").edges, ElementsAre(20, 40, 60, 80));
  EXPECT_EQ(find(many, "m").scale, "none") << "a name counts more than a pattern";
  EXPECT_EQ(find(many, "w").type, "category");
  EXPECT_EQ(find(learnt(30, "w"), "n").scale, "standard");
  EXPECT_EQ(find(learnt(100, "n.bin"), "n").scale, "standard") << "the name of its slot is taken";
}

TEST_F(Csv, HeadersWithoutSenseAreRefused) {
  EXPECT_THAT(error_from([&] { learn("a,a,y\n1,2,3\n"); }), HasSubstr("3: table: two columns are named 'a'"));
  EXPECT_THAT(error_from([&] { learn("abc\n1\n"); }), HasSubstr("there is one column"));
  EXPECT_THAT(error_from([&] { learn("a,b\n"); }), HasSubstr("a table without a record"));
  CsvOptions given;
  given.label = "yy";
  EXPECT_THAT(error_from([&] { learn("a,y\n1,2\n", given); }),
              HasSubstr("2: data.csv.label: there is no column 'yy'"));
  given.label = "y";
  given.columns = {column("b", "number")};
  EXPECT_THAT(error_from([&] { learn("a,y\n1,2\n", given); }),
              HasSubstr("data.csv.columns: there is no column 'b'"));
}

TEST_F(Csv, TablesAreToldByTheirHeader) {
  auto guess = [](std::string_view head) {
    const auto found = guess_table(head);
    return found ? cat(found->format, found->separator) : "none";
  };
  EXPECT_EQ(guess("age,job\n1,2\n"), "csv");
  EXPECT_EQ(guess("\xef\xbb\xbf"
                  "age\tjob\r\n1\t2\r\n"),
            "tsv");
  EXPECT_EQ(guess("age;job\n1;2\n"), "csv;");
  EXPECT_EQ(guess("a|b|c\n1|2|3\n"), "csv|");
  for (const char* other : {"", "1,2\n3,4\n", "age,job\n1\n", "a,a\n1,2\n", "one\ntwo\n", "a,,b\n1,2,3\n",
                            "0,5 1,7 1\n", "1 3:1\n"})
    EXPECT_EQ(guess(other), "none") << other;
}

TEST_F(Csv, ALookLearnsATable) {
  const std::string path = put_file("data", "age;job;click\n20;a;1\n30;b;0\n");
  const DataLook look = look_at_data({}, {path}, {});
  EXPECT_EQ(look.format, "csv");
  ASSERT_TRUE(look.csv);
  EXPECT_EQ(look.csv->label, "click");
  EXPECT_EQ(look.csv->separator, ";");
  EXPECT_EQ(look.largest_label, 1);
  EXPECT_EQ(look.seen.size(), 2u);
}

TEST_F(Csv, WordsThatAreHashedAreListedWhereTheyAreFew) {
  CsvOptions given;
  given.columns = {column("tags", "categories"), column("zip", "category"), column("kept", "category")};
  given.columns[2].dictionary = 1;
  const CsvOptions csv = learn(
      "job,tags,zip,kept,latin,n,y\nsmith,b|a,7,x,\xe9,1,0\nclerk,c||a,8,x,\xc3\xa9,2,1\n?,,,,\xff,3,0\n"
      "clerk,b,7,y,a,4,1\n",
      given);
  EXPECT_THAT(find(csv, "job").hashed_words, ElementsAre("clerk", "smith"));
  EXPECT_THAT(find(csv, "tags").hashed_words, ElementsAre("a", "b", "c"));
  EXPECT_THAT(find(csv, "zip").hashed_words, ElementsAre("7", "8"));
  EXPECT_THAT(find(csv, "latin").hashed_words, ElementsAre("a", "\xc3\xa9"));
  EXPECT_THAT(find(csv, "kept").words, ElementsAre("x"));
  EXPECT_THAT(find(csv, "kept").hashed_words, IsEmpty());
  EXPECT_THAT(find(csv, "n").hashed_words, IsEmpty());
}

TEST_F(Csv, TheListedWordsOfAColumnAreBoundedInNumberAndBytes) {
  const auto listed = [&](int count, const std::string& prefix, const std::string& last) {
    std::string table = "a,b,y\n";
    for (int i = 0; i < count; ++i) table += cat(prefix, i, ",", prefix, i, ",1\n");
    table += cat(last, ",", last, ",0\n");
    DataOptions options;
    options.format = "csv";
    options.csv.columns = {column("b", "category")};
    const CsvOptions csv = learn_table(options, {put_file("table", table)}, {}, 100000);
    return std::vector<size_t>{find(csv, "a").hashed_words.size(), find(csv, "b").hashed_words.size()};
  };
  EXPECT_THAT(listed(9999, "w", "x"), ElementsAre(10000, 10000));
  EXPECT_THAT(listed(10000, "w", "x"), ElementsAre(0, 0));
  EXPECT_THAT(listed(10000, "w", "w7"), ElementsAre(10000, 10000));
  // Column a is of type auto: it looks like one of numbers, until a word comes.
  EXPECT_THAT(listed(1000, "", "x"), ElementsAre(1001, 1001));
  EXPECT_THAT(listed(1001, "", "x"), ElementsAre(0, 1002));
  // There are 261,990 bytes, and 262,190; 256 KiB are 262,144.
  const std::string shorter(2618, 'w'), longer(2620, 'w');
  EXPECT_THAT(listed(100, shorter, shorter + "7"), ElementsAre(100, 100));
  EXPECT_THAT(listed(100, longer, longer + "7"), ElementsAre(0, 0));
}

TEST_F(Csv, TheListedWordsOfAllColumnsAreBoundedTogether) {
  std::string names = "y", table;
  for (int c = 0; c < 6; ++c) names += cat(",c", c);
  for (int i = 0; i < 100; ++i) {
    table += "1";
    for (int c = 0; c < 6; ++c) table += cat(",", std::string(2600, 'w'), i + 100);
    table += "\n";
  }
  const CsvOptions csv = learn(cat(names, "\n", table, "0,a,b,c,d,e,f\n"));
  for (int c = 0; c < 6; ++c) EXPECT_EQ(find(csv, cat("c", c)).hashed_words.size(), c < 4 ? 101u : 0u) << c;
}

// Records of all forms, many more than are learnt from at once; some of them are no good.
TEST_F(Csv, WhatIsLearntDoesNotDependOnTheThreads) {
  std::string table = "n,word,text,far,y\n";
  for (uint64_t i = 0; i < 20000; ++i) {
    const uint64_t random = hash_key(i);
    const std::string number = random % 11 == 0 ? "NA" : cat(random % 1000, ".", random % 7);
    const std::string word = random % 13 == 0 ? "\"two\nlines\"" : cat("w", random % 300);
    table += cat(number, ",", word, ",\"words ", random % 5, " \"\"and\"\" more of them\",",
                 i % 500 == 0 ? 1000000000 : 1, ",", random % 2, random % 3 == 0 ? "\r\n" : "\n");
    if (random % 17 == 0) table += "1,2\n";
    if (random % 19 == 0) table += random % 2 == 0 ? "\n" : "\r\n";
    if (random % 23 == 0) table += "1,\"a\"b,c,2,1\n";
  }
  DataOptions options;
  options.format = "csv";
  CsvColumn any;
  any.name = "*";
  any.scale = "auto+bins";
  options.csv.columns = {any};
  const std::string path = put_file("table", table);
  const auto learnt = [&](int threads, int64_t most) {
    return CsvOptions::spec().to_json(learn_table(options, {path}, {}, most, false, threads)).dump();
  };
  for (const int64_t most : {15000, 100000}) {
    const std::string one = learnt(1, most);
    EXPECT_THAT(one, AllOf(HasSubstr("two\\nlines"), HasSubstr("w299"), HasSubstr("log+bins")));
    for (const int threads : {2, 5}) EXPECT_EQ(one, learnt(threads, most)) << threads;
  }
  EXPECT_NE(learnt(1, 15000), learnt(1, 100000));
}

TEST_F(Csv, EveryChangedByteAndEveryPrefixIsReadOrRefused) {
  CsvColumn job = column("job", "category");
  DataOptions options = table({column("n", "number"), job});
  options.csv.escape = "\\";
  const std::string bytes = "n,job,y\r\n1.5,\"a, \"\"b\"\"\",1\n,x,0\n";
  int64_t number = 0;
  for (size_t i = 0; i <= bytes.size(); ++i) {
    error_of(options, std::string_view(bytes).substr(0, i));
    for (char c : {'\0', '\n', '"', '\\', ',', '\xff'}) {
      if (number++ % try_every() != 0) continue;
      std::string changed = bytes;
      if (i < bytes.size()) changed[i] = c;
      error_of(options, changed);
      error_from([&] { learn(changed); });
    }
  }
}

// A part for validation, by lines: no line is in both, and none is in neither.
TEST_F(Csv, PartsOfTheDataAddUp) {
  const std::string records = [] {
    std::string out;
    for (int i = 0; i < 2000; ++i) out += cat(i, ",", i % 2, "\n");
    return out;
  }();
  DataOptions options = table({column("n", "number")});
  options.validation = 0.1;
  const std::vector<std::string> all = read(options, "n,y\n" + records);
  options.part = DataPart::kTraining;
  std::vector<std::string> parts = read(options, "n,y\n" + records);
  options.part = DataPart::kValidation;
  const std::vector<std::string> validation = read(options, "n,y\n" + records);
  EXPECT_NEAR(static_cast<double>(validation.size()), 200, 60);
  parts.insert(parts.end(), validation.begin(), validation.end());
  EXPECT_THAT(parts, testing::UnorderedElementsAreArray(all));
}

}  // namespace ps::csv_test
