// Words and their ids.
#include "data/vocabulary.h"

#include "base/file.h"
#include "data_test.h"

namespace ps::vocabulary_test {

class Words : public DataTest {};

TEST_F(Words, AreRankedByFrequencyThenByTheirBytes) {
  DataOptions options = options_for("text");
  options.text.vocabulary_size = 4;
  auto vocabulary =
      Vocabulary::make(options, {put_file("a", "pear fig Fig apple\n"), put_file("b", "pear plum")});
  EXPECT_EQ(vocabulary->size(), 4);
  EXPECT_EQ(vocabulary->id("fig"), 1u);
  EXPECT_EQ(vocabulary->id("PEAR"), 2u);
  EXPECT_EQ(vocabulary->id("apple"), 3u);
  EXPECT_EQ(vocabulary->id("plum"), 0u);
  EXPECT_EQ(vocabulary->total(), 6u);
}

TEST_F(Words, ComeBackFromAFileWithTheSameIds) {
  DataOptions options = options_for("text");
  options.text.vocabulary_size = 3;
  auto counted = Vocabulary::make(options, {put_file("a", "one two two three three three four")});
  std::string path = folder_ + "/words";
  counted->save(path);
  EXPECT_EQ(read_file(path), "<other> 2\nthree 3\ntwo 2\n");
  options.text.vocabulary = path;
  auto loaded = Vocabulary::make(options, {});
  EXPECT_EQ(loaded->id("two"), 2u);
  EXPECT_EQ(loaded->id("one"), 0u);
  EXPECT_EQ(loaded->total(), 7u);
  options.text.vocabulary = put_file("bad", "three 3\ntwo\n");
  EXPECT_EQ(error_from([&] { Vocabulary::make(options, {}); }), "2: bad:2: expected a word and its count");
}

TEST_F(Words, OfAStreamCannotBeCounted) {
  EXPECT_EQ(error_from([] { BatchReader(options_for("text"), {"-"}, {}); }),
            "2: cannot count the words of 'standard input', which can be read once: name a file of words in "
            "'data.text.vocabulary'");
}

// The context must reach back over blocks, also over one without words, and start anew in every file.
TEST_F(Words, OfTheContextReachOverBlocksButNotOverFiles) {
  DataOptions options = options_for("text");
  options.text.context = 2;
  options.text.vocabulary_size = 5;
  std::string text = "a b" + std::string(600000, '\n') + "c\n" + std::string(600000, '\n') + "d a";
  BatchReader reader(options, {put_file("one", text), put_file("two", "b")}, {.threads = 2});
  EXPECT_EQ(read_batches(reader),
            std::vector<std::string>{"1 context:0,0\n2 context:0,1\n3 context:1,2\n4 context:2,3\n"
                                     "1 context:3,4\n2 context:0,0\n"});
}

}  // namespace ps::vocabulary_test
