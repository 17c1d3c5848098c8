// Contexts of words in plain text: before and behind a word, cut at random, without frequent words.
#include <algorithm>
#include <map>
#include <random>

#include "base/text.h"
#include "data/vocabulary.h"
#include "data_test.h"

namespace ps::text_windows_test {

using testing::ElementsAre;

class TextWindows : public DataTest {
 protected:
  static DataOptions windows(int before, int after) {
    DataOptions options = options_for("text");
    options.text.context = before;
    options.text.context_after = after;
    options.text.vocabulary_size = 40;
    return options;
  }

  // The words w1 to wN, of which wI gets the id I: it occurs N - I + 1 times in this file.
  std::string vocabulary_of(int words) {
    std::string out = "<other> 0\n";
    for (int i = 1; i <= words; ++i) out += cat("w", i, " ", words - i + 1, "\n");
    return put_file("vocabulary", out);
  }

  // Contexts by the rule alone: the ids around each word, 0 beyond the ends.
  static std::vector<std::string> expected(const std::vector<int>& ids, int before, int after) {
    std::vector<std::string> out;
    const int size = static_cast<int>(ids.size());
    for (int i = 0; i < size; ++i) {
      std::vector<std::string> around;
      for (int k = i - before; k <= i + after; ++k) {
        if (k != i) around.push_back(k < 0 || k >= size ? "0" : std::to_string(ids[static_cast<size_t>(k)]));
      }
      out.push_back(cat(ids[static_cast<size_t>(i)], " context:", join(around, ",")));
    }
    return out;
  }

  // A text of random words, and its ids.  Some lines are empty, so that blocks may be without words.
  static std::string random_text(int words, int kinds, std::vector<int>& ids) {
    std::mt19937 random(7);
    std::string out;
    for (int i = 0; i < words; ++i) {
      ids.push_back(static_cast<int>(random() % static_cast<uint32_t>(kinds)) + 1);
      out += cat("w", ids.back(), random() % 5 == 0 ? "\n" : " ");
      if (random() % 50 == 0) out += "\n\n";
    }
    return out;
  }
};

TEST_F(TextWindows, HaveTheWordsBeforeAndThenThoseBehind) {
  DataOptions options = windows(2, 1);
  EXPECT_THAT(read(options, "a b c d a a b b c a"),
              ElementsAre("1 context:0,0,2", "2 context:0,1,3", "3 context:1,2,4", "4 context:2,3,1",
                          "1 context:3,4,1", "1 context:4,1,2", "2 context:1,1,2", "2 context:1,2,3",
                          "3 context:2,2,1", "1 context:2,3,0"));
  EXPECT_THAT(read(options, "a"), ElementsAre("1 context:0,0,0"));
  EXPECT_THAT(read(windows(1, 4), "a b"), ElementsAre("1 context:0,2,0,0,0", "2 context:1,0,0,0,0"));
}

// Blocks without words lie between, and the next file is no context.
TEST_F(TextWindows, ReachOverBlocksButNotOverFiles) {
  DataOptions options = windows(1, 2);
  const std::string text = "a b" + std::string(600000, '\n') + "c\n" + std::string(600000, '\n') + "d a";
  for (const int threads : {1, 3}) {
    BatchReader reader(options, {put_file("one", text), put_file("empty", ""), put_file("two", "b")},
                       {.threads = threads});
    EXPECT_EQ(read_batches(reader),
              std::vector<std::string>{"1 context:0,2,3\n2 context:1,3,4\n3 context:2,4,1\n4 context:3,1,0\n"
                                       "1 context:4,0,0\n2 context:0,0,0\n"});
  }
}

TEST_F(TextWindows, AreTheSameHoweverThePipeBringsTheLines) {
  std::vector<int> ids;
  const std::string text = random_text(3000, 30, ids);
  DataOptions options = windows(5, 4);
  options.text.vocabulary = vocabulary_of(30);
  const std::vector<std::string> all = expected(ids, 5, 4);
  EXPECT_EQ(read(options, text), all);
  std::mt19937 random(9);
  std::vector<std::string> pieces;
  for (size_t at = 0; at < text.size(); at += pieces.back().size())
    pieces.push_back(text.substr(at, 1 + random() % 200));
  FedPipe pipe(pieces);
  options.batch_size = 1;
  BatchReader reader(options, {"-"}, {.stdin_descriptor = pipe.descriptor()});
  std::vector<std::string> piped;
  for (std::string& batch : read_batches(reader)) piped.push_back(batch.substr(0, batch.size() - 1));
  EXPECT_EQ(piped, all);
}

// The word that stands in the tail of a block is known by the next block, also where blocks are large.
TEST_F(TextWindows, OfALargeFileAreThoseOfTheRule) {
  std::vector<int> ids;
  const std::string text = random_text(200000, 30, ids);
  DataOptions options = windows(3, 3);
  options.text.vocabulary = vocabulary_of(30);
  EXPECT_TRUE(read(options, text, {.threads = 3}) == expected(ids, 3, 3));
}

TEST_F(TextWindows, ThatShrinkReachAsFarAsIsDrawnForEachWord) {
  std::vector<int> ids;
  const std::string text = random_text(5000, 30, ids);
  DataOptions options = windows(2, 4);
  options.text.vocabulary = vocabulary_of(30);
  const std::vector<std::string> whole = read(options, text);
  options.text.shrink_windows = true;
  EXPECT_EQ(read(options, text), whole) << "what is tested is whole";
  options.part = DataPart::kTraining;
  const std::vector<std::string> cut = read(options, text);
  ASSERT_EQ(cut.size(), ids.size());
  std::vector<std::vector<std::string>> by_reach;
  for (int reach = 1; reach <= 4; ++reach) by_reach.push_back(expected(ids, std::min(reach, 2), reach));
  std::map<size_t, int> reaches;
  for (size_t i = 0; i < cut.size(); ++i) {
    size_t reach = 0;
    while (reach < 4 && cut[i] != by_reach[reach][i]) ++reach;
    ++reaches[reach];
  }
  ASSERT_EQ(reaches.size(), 4u) << "a context is none of the four";
  for (const auto& [reach, count] : reaches) EXPECT_NEAR(count, 5000 / 4, 150) << reach + 1;
  EXPECT_EQ(read(options, text, {.threads = 3}), cut);
  options.sampling_seed = 2;
  EXPECT_NE(read(options, text), cut);
}

TEST_F(TextWindows, LeaveOutFrequentWordsByTheirRate) {
  // Half of the words are w1, and each of the others is a hundredth.
  std::mt19937 random(3);
  std::string text;
  for (int i = 0; i < 40000; ++i)
    text += cat("w", i % 2 == 0 ? 1 : 2 + random() % 50, i % 9 == 8 ? "\n" : " ");
  std::string words = "<other> 0\nw1 20000\n";
  for (int i = 2; i <= 51; ++i) words += cat("w", i, " 400\n");
  DataOptions options = windows(2, 2);
  options.text.vocabulary_size = 60;
  options.text.vocabulary = put_file("words", words);
  options.text.subsample = 0.02;
  EXPECT_EQ(read(options, text).size(), 40000u) << "what is tested is whole";
  options.part = DataPart::kTraining;
  size_t frequent = 0, rare = 0, in_contexts = 0;
  for (const std::string& example : read(options, text)) {
    ++(example.starts_with("1 ") ? frequent : rare);
    std::string context = cat(",", example.substr(example.find(':') + 1), ",");
    for (size_t at = 0; (at = context.find(",1,", at)) != std::string::npos; ++at) ++in_contexts;
  }
  EXPECT_EQ(rare, 20000u);
  const double rate = 0.24;  // sqrt(0.02 / 0.5) + 0.02 / 0.5
  EXPECT_NEAR(static_cast<double>(frequent), 20000 * rate, 300);
  // Two of a rare word's four neighbours are w1, and so are two of that word's own.
  EXPECT_NEAR(static_cast<double>(in_contexts), rate * (2 * 20000.0 + 2 * static_cast<double>(frequent)),
              800);
}

// Words come in turn, so that the ids of two examples tell if a word between them was left out.
TEST_F(TextWindows, LeaveOutAWordInAllContextsOrNone) {
  constexpr int kKinds = 30, kWords = 200000;
  std::string text;
  for (int i = 0; i < kWords; ++i) text += cat("w", 10 + i % kKinds, i % 11 == 0 ? "\n" : " ");
  std::string words = "<other> 0\n";
  for (int i = 0; i < kKinds; ++i) words += cat("w", 10 + i, " 1\n");
  DataOptions options = windows(1, 1);
  options.text.vocabulary = put_file("words", words);
  options.text.subsample = 0.005;
  options.part = DataPart::kTraining;
  const std::vector<std::string> examples = read(options, text, {.threads = 2});
  EXPECT_NEAR(static_cast<double>(examples.size()), kWords * 0.537, 1000);  // sqrt(0.15) + 0.15
  std::vector<int> ids;
  for (const std::string& example : examples) ids.push_back(std::stoi(example));
  auto follows = [&](size_t i) { return (ids[i] + 1 - ids[i + 1]) % kKinds == 0; };
  size_t wrong = 0;
  for (size_t i = 1; i + 1 < ids.size(); ++i) {
    std::vector<std::string> around;
    if (follows(i - 1)) around.push_back(std::to_string(ids[i - 1]));
    if (follows(i)) around.push_back(std::to_string(ids[i + 1]));
    wrong += examples[i] != cat(ids[i], " context:", join(around, ","));
  }
  EXPECT_EQ(wrong, 0u);
}

// Every word of this text is another one, so that its label says where it stands.
TEST_F(TextWindows, StretchesOfTheTextAreKeptForValidation) {
  constexpr int kWords = 20000;
  std::string text;
  for (int i = 0; i < kWords; ++i) text += cat("w", 10000 + i, i % 11 == 0 ? "\n" : " ");
  DataOptions options = windows(2, 2);
  options.text.vocabulary_size = kWords + 1;
  options.validation = 0.25;
  auto part = [&](DataPart which, const ReaderSettings& settings = {}) {
    options.part = which;
    return read(options, text, settings);
  };
  const std::vector<std::string> all = part(DataPart::kAll);
  ASSERT_EQ(all.size(), size_t{kWords});
  const std::vector<std::string> training = part(DataPart::kTraining);
  std::map<std::string, int> fold_of;
  for (options.fold = 0; options.fold < 4; ++options.fold) {
    const std::vector<std::string> kept = part(DataPart::kValidation);
    EXPECT_NEAR(static_cast<double>(kept.size()), 0.25 * kWords, 0.12 * kWords);
    for (const std::string& example : kept) EXPECT_TRUE(fold_of.emplace(example, options.fold).second);
  }
  options.fold = 0;
  EXPECT_EQ(fold_of.size(), size_t{kWords})
      << "each word is of one fold, with the context that it always has";
  std::vector<std::string> others;
  int borders = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (fold_of[all[i]] != 0) others.push_back(all[i]);
    borders += i > 0 && fold_of[all[i]] != fold_of[all[i - 1]];
  }
  EXPECT_EQ(training, others);
  EXPECT_LE(borders, std::ssize(text) / 1024) << "words next to each other are in one part";
  std::vector<std::string> shared;
  for (int share = 0; share < 3; ++share) {
    const auto own = part(DataPart::kTraining, {.threads = 1 + share, .share = share, .num_shares = 3});
    shared.insert(shared.end(), own.begin(), own.end());
  }
  std::ranges::sort(shared);
  std::ranges::sort(others);
  EXPECT_EQ(shared, others);
}

}  // namespace ps::text_windows_test
