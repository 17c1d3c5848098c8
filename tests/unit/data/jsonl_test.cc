// The format jsonl: fields of JSON as columns, what is learnt from them, and every fault with line and column.
#include <algorithm>

#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "data/csv/json_fields.h"
#include "data/csv/learn.h"
#include "data/format.h"
#include "data/look.h"
#include "data_test.h"
#include "support/environment.h"

namespace ps::jsonl_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The fields of a line: "name:word", "name:[words]", "name:null" or "name:nested", with the column of each value; or the
// error.  The byte behind the line is `behind`: a control character lets the fast scan try, a letter leaves the line to the
// parser of all JSON.
static std::vector<std::string> fields_of(const std::string& line, char behind = '\n') {
  const std::string padded = line + behind + std::string(16, '"');
  JsonFields fields;
  try {
    fields.parse(padded.data(), padded.data() + line.size());
  } catch (const Error& error) {
    return {error.message()};
  }
  std::vector<std::string> out;
  for (const JsonField& field : fields.fields()) {
    const std::vector<std::string> words(fields.words(field).begin(), fields.words(field).end());
    std::string text = "null";
    if (field.kind == JsonField::Kind::kWord) text = fields.word(field);
    if (field.kind == JsonField::Kind::kList) text = cat("[", join(words, ","), "]");
    if (field.kind == JsonField::Kind::kNested) text = "nested";
    out.push_back(cat(field.name, ":", text, "@", field.column));
  }
  return out;
}

TEST(JsonFields, AreWordsListsAndNulls) {
  EXPECT_THAT(fields_of("{}"), IsEmpty());
  EXPECT_THAT(fields_of(R"({"a":1,"b": -2.50e1 ,"c":"x y","d":true,"e":null})"),
              ElementsAre("a:1@6", "b:-2.50e1@13", "c:x y@26", "d:true@36", "e:null@45"));
  EXPECT_THAT(fields_of(R"({"t":["a","b",3,null,false],"u":[]})"),
              ElementsAre("t:[a,b,3,false]@6", "u:[]@33"));
  EXPECT_THAT(fields_of(R"({"q":"say \"hi\" \u00e9\ud83d\ude00\n","":18446744073709551615})"),
              ElementsAre("q:say \"hi\" \xc3\xa9\xf0\x9f\x98\x80\n@6", ":18446744073709551615@43"));
}

TEST(JsonFields, OfNestedValuesAreNamedAndPassedOver) {
  EXPECT_THAT(fields_of(R"({"a":{"x":[1,{"y":2}],"z":3},"b":[[1],2],"c":[1,{"k":0}],"d":4})"),
              ElementsAre("a:nested@6", "b:nested@34", "c:nested@46", "d:4@62"));
  const std::string deep = R"({"a":)" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_THAT(fields_of(deep), ElementsAre("a:nested@6"));
}

TEST(JsonFields, FaultsHaveTheirColumn) {
  EXPECT_THAT(fields_of(R"({"a":1,})"), ElementsAre(HasSubstr("column 8: ")));
  EXPECT_THAT(fields_of(R"({"a":01})"), ElementsAre(HasSubstr("column 7: ")));
  EXPECT_THAT(fields_of(R"({"a":1)"), ElementsAre(HasSubstr("column 7: ")));
  EXPECT_THAT(fields_of(R"({"a":nan})"), ElementsAre(HasSubstr("column 7: ")));
  EXPECT_THAT(fields_of(R"({"a":1e999})"), ElementsAre(HasSubstr("number overflow")));
  EXPECT_THAT(fields_of("{\"a\":\"\xff\"}"), ElementsAre(HasSubstr("column 7: ")));
  EXPECT_THAT(fields_of(R"({"a":1} {"a":2})"), ElementsAre(HasSubstr("column 9: ")));
  EXPECT_THAT(fields_of("[1,2]"), ElementsAre(HasSubstr("column 1: an object is expected")));
  EXPECT_THAT(fields_of("17"), ElementsAre(HasSubstr("an object is expected")));
  EXPECT_THAT(fields_of("null"), ElementsAre(HasSubstr("an object is expected")));
  EXPECT_THAT(fields_of(""), ElementsAre(HasSubstr("column 1: ")));
  EXPECT_THAT(fields_of(std::string("{\"a\":1}\0{}", 10)), ElementsAre(HasSubstr("a byte of value 0")));
  EXPECT_THAT(fields_of(std::string("{\"a\":1}\0", 8)), ElementsAre(HasSubstr("a byte of value 0")));
}

// A line of pieces, most of them in places where JSON may have them, then with some bytes changed.
static std::string drawn_line(Random& random) {
  static const std::vector<std::string_view> kPieces = split(
      "1|-0|-0.0|1e5|12345678901234567890|1e999|0.001|-17.25e-3|01|\"x y\"|\"\"|true|false|null|nul|[]|{}"
      "|\"\\u00e9\"|\"\\ud83d\\ude00\"|\"\\ud83d\"|\"\\n\\/\"|\"\\x\"|[1,\"a\",null]|[[1],2,{\"k\":[]}]|[ 1 "
      ", true ]"
      "|{\"a\":{\"b\":[1,2]},\"c\":null}|\"caf\xc3\xa9 "
      "\xf0\x9f\x98\x80\"|\"\xc3\"|\"\xed\xa0\x80\"|\"tab\there\""
      "|\"long enough for more than one word of eight bytes\"",
      '|');
  auto below = [&](uint64_t bound) { return static_cast<size_t>(random.below(bound)); };
  std::string line = "{";
  for (size_t i = below(6); i > 0; --i) {
    line += cat("\"", below(3) == 0 ? "n\\u00e4me" : "field", i,
                below(9) == 0 ? "\" : " : "\":", kPieces[below(kPieces.size())],
                i > 1 ? below(9) == 0 ? "\t, " : "," : "");
  }
  line += "}";
  constexpr char kBytes[] = "{}[]\",:\\-.e019 \t\r\0\x80\xff\x7ftn";
  for (size_t changes = below(3); changes > 0; --changes)
    line[below(line.size())] = kBytes[below(sizeof kBytes - 1)];
  return line;
}

// Two ways to read a line give the same fields, or the same fault.
TEST(JsonFields, AreTheSameHoweverTheyAreRead) {
  Random random(17, 0);
  int good = 0, bad = 0;
  for (int64_t i = tries(30000); i > 0; --i) {
    const std::string line = drawn_line(random);
    const std::vector<std::string> found = fields_of(line), expected = fields_of(line, 'x');
    ASSERT_EQ(found, expected) << line;
    const bool is_fault = found.size() == 1 && found[0].starts_with("column ");
    ++(is_fault ? bad : good);
  }
  EXPECT_GT(good, tries(5000));
  EXPECT_GT(bad, tries(5000));
}

class Jsonl : public DataTest {
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
  static DataOptions objects(std::vector<CsvColumn> columns) {
    DataOptions options;
    options.format = "jsonl";
    options.csv.label = "y";
    options.csv.columns = std::move(columns);
    options.csv.learnt = true;
    return options;
  }

  CsvOptions learn(std::string_view bytes, const CsvOptions& csv = {}) {
    DataOptions options;
    options.format = "jsonl";
    options.csv = csv;
    return learn_table(options, {put_file("data", bytes)}, {}, 1000);
  }

  static const CsvColumn& find(const CsvOptions& csv, const std::string& name) {
    return *std::find_if(csv.columns.begin(), csv.columns.end(),
                         [&](const CsvColumn& c) { return c.name == name; });
  }
};

TEST_F(Jsonl, FieldsInAnyOrderBecomeTheSlotsOfTheirColumns) {
  CsvColumn age = column("age", "number");
  age.missing = "indicator";
  const DataOptions options = objects({age, column("job", "category"), column("tags", "categories")});
  const auto hash = [](std::string_view word, std::string_view name) {
    return hash_bytes(word, hash_bytes(name));
  };
  EXPECT_THAT(
      read(options,
           "\xef\xbb\xbf{\"y\":1,\"age\":30.5,\"job\":\"cook\",\"tags\":[\"a\",7,\"\"],\"other\":{\"x\":1}}"
           "\r\n"
           "\n \t\n"
           "{\"tags\":\"a|b\",\"job\":12,\"y\":\"0\",\"age\":\"31\"}\n"
           "{\"y\":0,\"job\":null,\"tags\":[]}"),
      ElementsAre(
          cat("1 age:30.5,0 job:", hash("cook", "job"), " tags:", hash("a", "tags"), ",", hash("7", "tags")),
          cat("0 age:31,0 job:", hash("12", "job"), " tags:", hash("a", "tags"), ",", hash("b", "tags")),
          "0 age:0,1 job: tags:"));
}

// Two ways to write a table give the same examples.
TEST_F(Jsonl, SaysTheSameAsCsv) {
  CsvColumn bins = column("n", "number"), word = column("w", "category"), some = column("s", "categories"),
            text = column("t", "text");
  bins.scale = "none+bins";
  bins.edges = {1, 2.5};
  word.dictionary = 2;
  word.words = {"a", "b"};
  bins.missing = word.missing = some.missing = text.missing = "indicator";
  text.word_ngrams = 2;
  DataOptions lines = objects({bins, word, some, text});
  lines.csv.classes = {"no", "yes"};
  lines.csv.weight = "weight";
  lines.csv.group = "user";
  DataOptions table = lines;
  table.format = "csv";
  EXPECT_EQ(read(lines, R"({"n":2,"w":"b","s":["x","y"],"t":"two words","y":"yes","weight":0.5,"user":"ann"})"
                        "\n"
                        R"({"user":7,"weight":2,"y":"no","n":null,"w":"c"})"),
            read(table,
                 "n,w,s,t,y,weight,user\n"
                 "2,b,x|y,two words,yes,0.5,ann\n"
                 ",c,,,no,2,7\n"));
}

TEST_F(Jsonl, LinesThatDoNotFitAreNamedWithTheirColumn) {
  const DataOptions options = objects({column("n", "number"), column("c", "category")});
  const auto error = [&](const std::string& line) {
    return error_of(options, "{\"n\":1,\"y\":1}\n" + line + "\n");
  };
  EXPECT_EQ(error(R"({"n":"x","y":1})"), "3: data:2: column 6: value 'x' of column 'n' is not a number");
  EXPECT_EQ(error(R"({"n":1e39,"y":1})"), "3: data:2: column 6: value '1e39' of column 'n' is not finite");
  EXPECT_EQ(
      error(R"({"n":[1,2],"y":1})"),
      "3: data:2: column 6: column 'n' takes one value, found a list: a column of type categories takes "
      "several words");
  EXPECT_THAT(error(R"({"c":["a"],"y":1})"), HasSubstr("column 'c' takes one value, found a list"));
  EXPECT_THAT(error(R"({"y":1,"n":{"a":1}})"), HasSubstr("data:2: column 12: field 'n' holds objects"));
  EXPECT_THAT(error(R"({"y":1,"n":1,"n":2})"), HasSubstr("data:2: column 18: a second field 'n'"));
  EXPECT_THAT(error(R"({"y":[1],"n":1})"), HasSubstr("the label, field 'y', is a list"));
  EXPECT_THAT(error(R"({"n":1})"), HasSubstr("data:2: the label, column 'y', is missing"));
  EXPECT_THAT(error(R"({"n":1,"y":)"), HasSubstr("data:2: column 12: "));
  DataOptions weighted = options;
  weighted.csv.weight = "w";
  EXPECT_THAT(error_of(weighted, R"({"n":1,"y":1})"), HasSubstr("the weight, column 'w', is missing"));
  EXPECT_THAT(error_of(weighted, R"({"n":1,"y":1,"w":[1]})"), HasSubstr("column 'w' takes one value"));
  DataOptions lenient = options;
  lenient.max_bad_lines = 2;
  EXPECT_THAT(read(lenient, "{\"y\":1,\"n\":1}\nnonsense\n{\"y\":1,\"n\":\"x\"}\n{\"y\":0,\"n\":2}\n"),
              ElementsAre("1 n:1 c:", "0 n:2 c:"));
}

TEST_F(Jsonl, ToPredictTakesNoLabel) {
  DataOptions options = objects({column("n", "number")});
  options.csv.classes = {"no", "yes"};
  options.label_use = LabelUse::kIgnored;
  EXPECT_THAT(read(options, "{\"n\":1}\n{\"n\":2,\"y\":\"perhaps\"}\n"), ElementsAre("0 n:1", "0 n:2"));
  options.label_use = LabelUse::kKept;
  options.labels = false;
  EXPECT_THAT(read(options, "{\"n\":1,\"y\":{}}\n"), ElementsAre("0 n:1"));
}

TEST_F(Jsonl, TypesAreFoundFromAllLines) {
  const CsvOptions csv = learn(
      "{\"age\":20,\"job\":\"cook\",\"click\":false}\n"
      "not an object\n"
      "{\"click\":true,\"tags\":[\"a\",\"b\"],\"age\":40,\"on\":true}\n");
  EXPECT_TRUE(csv.learnt);
  EXPECT_EQ(csv.label, "click");
  EXPECT_THAT(csv.classes, ElementsAre("false", "true"));
  std::vector<std::string> columns;
  for (const CsvColumn& c : csv.columns) columns.push_back(cat(c.name, " ", c.type, " ", c.missing));
  EXPECT_THAT(columns, ElementsAre("age number none", "job category indicator", "tags categories indicator",
                                   "on category indicator"));
  EXPECT_EQ(find(csv, "age").offset, 30);
  const CsvOptions gaps = learn("{\"n\":1,\"y\":0}\n{\"y\":1}\n");
  EXPECT_EQ(find(gaps, "n").missing, "indicator") << "the field is not in every line";
}

TEST_F(Jsonl, DictionariesCountTheWordsOfLists) {
  CsvOptions given;
  given.columns = {column("s", "categories")};
  given.columns[0].dictionary = 2;
  const CsvOptions csv = learn("{\"y\":0,\"s\":[\"x\",\"z\"]}\n{\"y\":1,\"s\":[\"x\",\"y\",\"y\"]}\n", given);
  EXPECT_THAT(csv.columns[0].words, ElementsAre("x", "y"));
}

TEST_F(Jsonl, ObjectsThatAreNoTableAreRefused) {
  EXPECT_THAT(error_from([&] { learn("{\"y\":1}\n{\"y\":0,\"user\":{\"id\":1}}\n"); }),
              HasSubstr("3: data:2: column 15: field 'user' holds objects or lists of lists"));
  CsvOptions given;
  given.columns = {column("user", "ignore")};
  EXPECT_EQ(learn("{\"y\":1,\"n\":2}\n{\"y\":0,\"user\":{\"id\":1}}\n", given).columns.size(), 2u);
  EXPECT_THAT(error_from([&] { learn("{\"a\":1,\"b\":2}\n"); }),
              HasSubstr("2: data.csv.label: name the column that is the label, one of a, b"));
  given.columns = {column("numbr", "number")};
  EXPECT_THAT(error_from([&] { learn("{\"y\":1,\"number\":2}\n", given); }),
              HasSubstr("data.csv.columns: there is no column 'numbr' (did you mean 'number'?)"));
  EXPECT_THAT(error_from([&] { learn("{}\n"); }), HasSubstr("a table without a record"));
  EXPECT_THAT(error_from([&] { learn("\n{\"y\":\"caf\xe9\",\"n\":1}\n{\"y\":\"th\xe9\"}\n"); }),
              HasSubstr("3: data:2: column 11: syntax error"))
      << "words that are not UTF-8";
  std::string many = "{\"y\":1";
  for (int i = 0; i < 10001; ++i) many += cat(",\"f", i, "\":1");
  EXPECT_THAT(error_from([&] { learn(many + "}\n"); }),
              HasSubstr("there are more than 10000 different fields"));
}

TEST_F(Jsonl, IsToldByItsBrace) {
  EXPECT_EQ(recognize_format({}, " {\"a\":1}\n", "data").name, "jsonl");
  const DataLook look = look_at_data({}, {put_file("data", "{\"a\":1,\"y\":1}\n{\"a\":2,\"y\":0}\n")}, {});
  EXPECT_EQ(look.format, "jsonl");
  ASSERT_TRUE(look.csv);
  EXPECT_EQ(look.csv->label, "y");
  EXPECT_EQ(look.seen_examples, 2);
}

TEST_F(Jsonl, ReadsCompressedFilesWhereverBlocksEnd) {
  const DataOptions options = objects({column("n", "number")});
  std::string bytes;
  for (int i = 0; i < 30000; ++i)
    bytes += cat("{\"n\":", i % 100, ",\"pad\":\"", std::string(i % 37, 'x'), "\",\"y\":1}\n");
  for (const std::string& file : {bytes, gzip(bytes), zstd(bytes)}) {
    const std::vector<std::string> examples = read(options, file);
    ASSERT_EQ(examples.size(), 30000u);
    for (size_t i = 0; i < examples.size(); ++i) ASSERT_EQ(examples[i], cat("1 n:", i % 100));
  }
}

TEST_F(Jsonl, EveryChangedByteAndEveryPrefixIsReadOrRefused) {
  const DataOptions options =
      objects({column("n", "number"), column("job", "category"), column("tags", "categories")});
  const std::string bytes =
      "{\"n\":1.5e0,\"job\":\"\\u00e9\\n\",\"tags\":[\"a\",null],\"y\":1}\r\n{\"y\":0}\n";
  int64_t number = 0;
  for (size_t i = 0; i <= bytes.size(); ++i) {
    error_of(options, std::string_view(bytes).substr(0, i));
    for (char c : {'\0', '\n', '"', '\\', '{', ']'}) {
      if (number++ % try_every() != 0) continue;
      std::string changed = bytes;
      if (i < bytes.size()) changed[i] = c;
      error_of(options, changed);
      error_from([&] { learn(changed); });
    }
  }
}

}  // namespace ps::jsonl_test
