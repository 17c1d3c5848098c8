// A look at data: what jobs that leave values open learn from them.
#include "data/look.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data_test.h"

namespace ps::look_test {

using testing::HasSubstr;

class LookTest : public DataTest {
 protected:
  DataLook look(std::string_view bytes, DataOptions options = {}, LookSettings settings = {}) {
    return look_at_data(options, {put_file("data", bytes)}, settings);
  }

  // As standard input, of which the first `head` bytes are read to be looked at.
  DataLook look_at_input(std::string_view bytes, size_t head) {
    const int descriptor = memfd_create("input", MFD_CLOEXEC);
    EXPECT_EQ(write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    lseek(descriptor, 0, SEEK_SET);
    LookSettings settings;
    settings.head = head_ = read_input_head(descriptor, head);
    const DataLook seen = look_at_data({}, {"-"}, settings);
    ReaderSettings reading;
    reading.stdin_descriptor = descriptor;
    reading.stdin_head = head_.bytes;
    DataOptions options;
    options.format = seen.format;
    options.batch_size = 2;
    BatchReader reader(options, {"-"}, reading);
    batches_ = read_batches(reader);
    close(descriptor);
    return seen;
  }

  InputHead head_;
  std::vector<std::string> batches_;
};

TEST_F(LookTest, BarsOfVowpalWabbitSeparateNoColumns) {
  const DataLook seen = look("1 1 a|user u1 |item x y\n-1 1 b|user u2 |item z y\n");
  EXPECT_EQ(seen.format, "vw");
  EXPECT_EQ(seen.examples, 2);
  EXPECT_FALSE(seen.csv.has_value());
  EXPECT_EQ(look("id|name|label\n1|ann|0\n2|bob|1\n").format, "csv");
}

TEST_F(LookTest, TellsFormatLabelsAndLargestId) {
  const DataLook seen = look("3 4:1 9:2\n0 7:1\n");
  EXPECT_EQ(seen.format, "libsvm");
  EXPECT_EQ(seen.examples, 2);
  EXPECT_TRUE(seen.whole && !seen.stream);
  EXPECT_EQ(seen.smallest_label, 0);
  EXPECT_EQ(seen.largest_label, 3);
  EXPECT_TRUE(seen.whole_labels);
  ASSERT_EQ(seen.seen.size(), 1u);
  EXPECT_EQ(seen.seen[0].largest_key, 9u);
  EXPECT_EQ(seen.seen[0].num_keys, 3u);
  EXPECT_TRUE(seen.seen[0].all_whole && !seen.seen[0].all_ones);
}

TEST_F(LookTest, TellsValuesThatAreOnesFromCountsAndFractions) {
  EXPECT_TRUE(look("1 4:1 9:1\n").seen[0].all_ones);
  EXPECT_TRUE(look("1 4:1 9:12\n").seen[0].all_whole);
  EXPECT_FALSE(look("1 4:1 9:0.5\n").seen[0].all_whole);
  EXPECT_FALSE(look("1 4:1 9:-1\n").seen[0].all_whole);
  EXPECT_FALSE(look("0.5 4:1\n").whole_labels);
}

TEST_F(LookTest, TellsTheSlotsOfMultislot) {
  const DataLook seen = look("2 0.5 1 1 17 1 0\n2 1 1 1 18 1 1\n");
  EXPECT_EQ(seen.format, "multislot");
  ASSERT_EQ(seen.slots.size(), 3u);
  EXPECT_EQ(seen.slots[0].dim, 2);
  EXPECT_EQ(seen.label_slot, "label");
  EXPECT_EQ(seen.seen[1].largest_key, 18u);
}

TEST_F(LookTest, TakesSlotsThatAreKnownAsTheyAre) {
  DataOptions options;
  options.slots = {{"y"}, {"x"}};
  options.label_slot = "y";
  const DataLook seen = look("1 1 1 5\n", options);
  EXPECT_TRUE(seen.slots.empty());
  EXPECT_EQ(seen.seen[0].schema.name, "x");
}

TEST_F(LookTest, ExpectsTheRestToBeAsTheFirstExamples) {
  LookSettings settings;
  settings.most_examples = 4096;
  std::string lines;
  for (int i = 0; i < 200000; ++i) lines += "1 5:1 6:1 7:1\n";
  const DataLook seen = look(lines, {}, settings);
  EXPECT_FALSE(seen.whole);
  EXPECT_GE(seen.examples, 4096);
  EXPECT_LE(seen.examples, 200000);
}

TEST_F(LookTest, StandardInputIsReadAgainFromItsBeginning) {
  const std::string lines = "1 5:1\n0 6:1\n1 7:1\n0 8:1\n";
  DataLook seen = look_at_input(lines, 1000);
  EXPECT_TRUE(seen.stream && seen.whole);
  EXPECT_EQ(seen.examples, 4);
  EXPECT_EQ(batches_.size(), 2u);
  const std::vector<std::string> undisturbed = batches_;
  seen = look_at_input(lines, 15);
  EXPECT_FALSE(seen.whole);
  EXPECT_EQ(seen.examples, 2) << "the third line goes on";
  EXPECT_EQ(batches_, undisturbed);
}

TEST_F(LookTest, CompressedInputMayEndInTheMidstOfTheHead) {
  std::string lines;
  for (int64_t i = 0; i < 300000; ++i) lines += "1 " + std::to_string(i * 7919 % 100003) + ":1\n";
  for (const std::string& bytes : {gzip(lines), zstd(lines)}) {
    const DataLook seen = look_at_input(bytes, bytes.size() / 2);
    EXPECT_GT(seen.examples, 0);
    EXPECT_LT(seen.examples, 300000);
    EXPECT_EQ(batches_.size(), 150000u);
  }
}

TEST_F(LookTest, RefusesPipesWithANameAndTextOfNoFormat) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_from([&] { look_at_data({}, {pipe}, {}); }),
              HasSubstr("is a pipe, which cannot be looked at"));
  EXPECT_THAT(error_from([&] { look("no such format\n"); }), HasSubstr("cannot tell the format"));
  EXPECT_THAT(error_from([&] { look("1 5:1\n1 x:1\n"); }), HasSubstr("3: data:2: "));
}

}  // namespace ps::look_test
