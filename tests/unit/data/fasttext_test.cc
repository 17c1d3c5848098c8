// fastText's lines, and the features of texts, in tables too.
#include "base/hash.h"
#include "base/text.h"
#include "config/json.h"
#include "config/spec.h"
#include "data/fasttext_classes.h"
#include "data/format.h"
#include "data/look.h"
#include "data/text_features.h"
#include "data_test.h"

namespace ps::fasttext_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FastText : public DataTest {
 protected:
  static Key id(std::string_view word) { return hash_bytes(word, hash_bytes("features")); }

  static DataOptions with_classes() {
    DataOptions options = options_for("fasttext");
    options.fasttext.classes = {"bad", "good"};
    return options;
  }

  static std::vector<Key> features(const TextFeatureOptions& options, std::string_view text,
                                   bool blanks = false) {
    std::vector<Key> keys;
    add_text_features(options, text, 5, blanks, keys);
    return keys;
  }
};

TEST_F(FastText, LabelsAreClassesAndWordsAreHashed) {
  EXPECT_THAT(read(with_classes(), "__label__good a Fine day\n\nrain __label__bad\t,rain\r\n__label__good\n"),
              ElementsAre(cat("1 features:", id("a"), ",", id("Fine"), ",", id("day")),
                          cat("0 features:", id("rain"), ",", id(",rain")), "1 features:"));
  DataOptions small = with_classes();
  small.dim = 10;
  EXPECT_THAT(read(small, "__label__bad word\n"), ElementsAre(cat("0 features:", id("word") % 10)));
}

TEST_F(FastText, LabelsAreNumbersWithoutClasses) {
  EXPECT_THAT(read(options_for("auto"), "__label__2.5 x\n"), ElementsAre(cat("2.5 features:", id("x"))));
  DataOptions other = options_for("fasttext");
  other.fasttext.label_prefix = "#";
  EXPECT_THAT(read(other, "#2 __label__\n"), ElementsAre(cat("2 features:", id("__label__"))));
}

TEST_F(FastText, FaultsAreSaid) {
  EXPECT_THAT(error_of(with_classes(), "__label__good x\nx y\n"),
              HasSubstr("data:2: no label: no word begins with '__label__'"));
  EXPECT_THAT(error_of(with_classes(), "__label__good x __label__bad\n"),
              HasSubstr("data:1: a second label, '__label__bad'"));
  EXPECT_THAT(error_of(with_classes(), "__label__ugly x\n"),
              HasSubstr("data:1: label 'ugly' is none of data.fasttext.classes"));
  EXPECT_THAT(error_of(options_for("fasttext"), "__label__good x\n"),
              HasSubstr("label 'good' is not a number, and data.fasttext.classes is empty"));
  EXPECT_THAT(error_of(options_for("fasttext"), "__label__ x\n"), HasSubstr("label '' is not a number"));
}

TEST_F(FastText, PredictionsNeedNoLabel) {
  DataOptions options = with_classes();
  options.label_use = LabelUse::kIgnored;
  EXPECT_THAT(
      read(options, "x\n__label__ugly x\n__label__good __label__bad x\n"),
      ElementsAre(cat("0 features:", id("x")), cat("0 features:", id("x")), cat("0 features:", id("x"))));
}

TEST_F(FastText, ALookLearnsTheClasses) {
  const std::string file = put_file("train", "__label__spam x\ny __label__ham\n__label__spam z\n");
  const DataLook look = look_at_data(options_for("auto"), {file}, {});
  EXPECT_EQ(look.format, "fasttext");
  EXPECT_THAT(look.classes, ElementsAre("ham", "spam"));
  EXPECT_EQ(look.largest_label, 1);
  const std::string numbers = put_file("numbers", "__label__3 x\n__label__4 y\n");
  EXPECT_THAT(look_at_data(options_for("auto"), {numbers}, {}).classes, IsEmpty());
}

TEST_F(FastText, WithoutAPrefixThereAreNoLabelsToLearn) {
  const std::string file = put_file("train", "__label__spam x\ny __label__ham\n");
  DataOptions options = options_for("fasttext");
  EXPECT_THAT(learn_fasttext_classes(options, {file}, {}, 100), ElementsAre("ham", "spam"));
  options.fasttext.label_prefix = "";
  EXPECT_THAT(learn_fasttext_classes(options, {file}, {}, 100), IsEmpty());
}

TEST_F(FastText, TextFeaturesAreWordsAndRunsOfWordsAndCharacters) {
  const auto word = [](std::string_view text) { return hash_bytes(text, 5); };
  const auto run = [](std::string_view text) { return hash_bytes(text, 6); };
  EXPECT_THAT(features({}, "It's  NEW, here"), ElementsAre(word("it's"), word("new"), word("here")));
  EXPECT_THAT(features({}, " It's  NEW,", /*blanks=*/true), ElementsAre(word("It's"), word("NEW,")));
  const Key ab = hash_key(word("a")) + word("b"), bc = hash_key(word("b")) + word("c");
  EXPECT_THAT(features({.word_ngrams = 2}, "a b c"), ElementsAre(word("a"), word("b"), word("c"), ab, bc));
  EXPECT_THAT(features({.word_ngrams = 9}, "a b c"),
              ElementsAre(word("a"), word("b"), word("c"), ab, hash_key(ab) + word("c"), bc));
  EXPECT_THAT(features({.shortest_char_ngram = 3, .char_ngrams = 4}, "aö"),
              ElementsAre(word("aö"), run("<aö"), run("<aö>"), run("aö>")));
  EXPECT_THAT(features({.word_ngrams = 2}, " ,; "), IsEmpty());
}

// With runs of more characters than a word has, words are hashed one by one, beside many at once without.
TEST_F(FastText, WordsAreTheSameHoweverManyThereAre) {
  const std::string pieces[] = {" ", "\t",           ",",    "'",    "a",   "Bc", "9",
                                "ö", "\xe2\x80\x94", "\xc2", "\xff", "\x80"};
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::string text;
    for (uint64_t i = 0; i < hash_key(seed) % 600; ++i)
      text += pieces[hash_key(seed * 1000 + i) % 12] + (i % 5 == 0 ? " " : "");
    for (const bool blanks : {false, true}) {
      for (const int run : {1, 3}) {
        EXPECT_EQ(features({.word_ngrams = run}, text, blanks),
                  features({.word_ngrams = run, .shortest_char_ngram = 20, .char_ngrams = 20}, text, blanks));
      }
    }
  }
}

TEST_F(FastText, WithoutWholeWordsTheFeaturesAreRunsOfCharactersAlone) {
  const auto run = [](std::string_view text) { return hash_bytes(text, 6); };
  const TextFeatureOptions trimers{.shortest_char_ngram = 3, .char_ngrams = 3, .whole_words = false};
  EXPECT_THAT(features(trimers, "ACGTA,c ACGö"),
              ElementsAre(run("acg"), run("cgt"), run("gta"), run("acg"), run("cgö")));
  EXPECT_THAT(features(trimers, " ACG", /*blanks=*/true), ElementsAre(run("ACG")));
  // Words are as long as they are: 100 characters have 98 runs.
  EXPECT_EQ(features(trimers, std::string(100, 'a')).size(), 98u);
}

TEST_F(FastText, WithoutWholeWordsThereMustBeRunsOfCharacters) {
  const auto error_of_column = [this](const char* keys) {
    return error_from([&] {
      CsvColumn::spec().parse(
          Json::parse(cat(R"({"name": "read", "type": "text", "whole_words": false)", keys, "}")), "column");
    });
  };
  EXPECT_EQ(error_of_column(R"(, "char_ngrams": 3)"), "");
  EXPECT_THAT(error_of_column(""), HasSubstr("column.whole_words: false, but char_ngrams is 0"));
  EXPECT_THAT(error_of_column(R"(, "char_ngrams": 3, "word_ngrams": 2)"),
              HasSubstr("column.whole_words: false, but word_ngrams is 2"));
}

TEST_F(FastText, ColumnsOfTablesMayBeTexts) {
  DataOptions options = options_for("csv");
  options.csv.columns = {CsvColumn{}, CsvColumn{}};
  options.csv.columns[0].name = "title";
  options.csv.columns[0].type = "text";
  options.csv.columns[1].name = "body";
  options.csv.columns[1].type = "text";
  options.csv.columns[1].ids_of = "title";
  options.csv.label = "y";
  options.csv.learnt = true;
  const auto id_of = [](std::string_view word) { return hash_bytes(word, hash_bytes("title")); };
  EXPECT_THAT(read(options, "title,body,y\n\"One, two\",TWO,1\n"),
              ElementsAre(cat("1 title:", id_of("one"), ",", id_of("two"), " body:", id_of("two"))));
}

TEST_F(FastText, AColumnOfSentencesIsAText) {
  const std::string file = put_file(
      "table.csv", "review,stars,y\nthis one is not so good,bad,0\nthat one is rather very good,good,1\n");
  const DataLook look = look_at_data(options_for("auto"), {file}, {});
  ASSERT_TRUE(look.csv);
  EXPECT_EQ(look.csv->columns[0].type, "text");
  EXPECT_EQ(look.csv->columns[1].type, "category");
}

}  // namespace ps::fasttext_test
