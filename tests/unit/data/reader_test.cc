// The pipeline: order, batches, passes, shuffles, bad lines, streams.
#include "data/reader.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <numeric>
#include <set>

#include "base/text.h"
#include "data_test.h"

namespace ps::reader_test {

using testing::ElementsAre;

class Reader : public DataTest {
 protected:
  std::vector<std::string> read_pipe(const DataOptions& options, std::vector<std::string> pieces) {
    FedPipe pipe(std::move(pieces));
    BatchReader reader(options, {"-"}, {.threads = 2, .stdin_descriptor = pipe.descriptor()});
    return read_batches(reader);
  }

  static DataOptions small_batches() {
    DataOptions options = options_for("libsvm");
    options.batch_size = 7;
    return options;
  }

  // Lines "0 i" for i below n, and the ids of batches of such lines in order.
  static std::string numbered(int n) {
    std::string lines;
    for (int i = 0; i < n; ++i) lines += cat("0 ", i, "\n");
    return lines;
  }
  static std::vector<int> ids(BatchReader& reader, int pass) {
    std::vector<int> out;
    reader.begin_pass(pass);
    Batch batch;
    while (reader.next(batch)) {
      for (Key key : batch.slots[0].keys) out.push_back(static_cast<int>(key));
    }
    return out;
  }
};

// One round of the shares, in their order, is a batch three times as large.
TEST_F(Reader, SharesOfOneFileAreBatchesInTurn) {
  const std::string path = put_file("data", numbered(50));
  DataOptions options = small_batches();
  std::vector<std::vector<int>> shares;
  for (int share = 0; share < 3; ++share) {
    BatchReader reader(options, {path}, {.passes = 2, .share = share, .num_shares = 3});
    shares.push_back(ids(reader, 0));
    EXPECT_EQ(ids(reader, 1), shares.back()) << "in the next pass";
  }
  EXPECT_THAT(shares[0], testing::SizeIs(21));  // batches 0, 3, 6
  EXPECT_THAT(shares[1], testing::SizeIs(15));  // batches 1, 4, 7, which has one example
  EXPECT_THAT(shares[2], testing::SizeIs(14));
  EXPECT_EQ(shares[1][0], 7);
  EXPECT_EQ(shares[1].back(), 49);
  EXPECT_EQ(shares[2][7], 35);
}

// Every so many of the batches of a share, of one file as of files that are dealt out, in every order.
TEST_F(Reader, TheStrandsOfAShareAreItsBatchesInTurn) {
  const std::string path = put_file("data", numbered(250));
  std::vector<std::string> several;
  for (int i = 0; i < 4; ++i) several.push_back(put_file(cat("part", i), numbered(61 + i)));
  for (const std::vector<std::string>& paths : {std::vector{path}, several}) {
    for (const char* shuffle : {"none", "window", "full", "global"}) {
      SCOPED_TRACE(cat(paths.size(), " files, shuffle ", shuffle));
      DataOptions options = small_batches();
      options.shuffle = shuffle;
      options.shuffle_window = 40;
      BatchReader whole(options, paths, {.share = 1, .num_shares = 3});
      const std::vector<int> share = ids(whole, 5);
      const size_t left_out = 2 * static_cast<size_t>(options.batch_size);
      std::vector<std::vector<int>> strands;
      for (int64_t first : {2, 3, 4, 5}) {
        BatchReader reader(options, paths, {.share = 1, .num_shares = 3, .first = first, .stride = 4});
        strands.push_back(ids(reader, 5));
      }
      std::vector<int> together;
      for (size_t i = left_out; i < share.size(); ++i) {
        const size_t batch = i / static_cast<size_t>(options.batch_size) - 2;
        const size_t at = batch / 4 * static_cast<size_t>(options.batch_size) + i % 7;
        ASSERT_LT(at, strands[batch % 4].size());
        together.push_back(strands[batch % 4][at]);
      }
      EXPECT_EQ(together,
                std::vector<int>(share.begin() + static_cast<std::ptrdiff_t>(left_out), share.end()));
    }
  }
  BatchReader behind(small_batches(), {path}, {.share = 1, .num_shares = 3, .first = 1000, .stride = 2});
  EXPECT_THAT(ids(behind, 0), testing::IsEmpty()) << "the share has fewer batches";
}

TEST_F(Reader, EnoughFilesAreDealtOut) {
  std::vector<std::string> paths;
  for (int i = 0; i < 5; ++i) paths.push_back(put_file(cat("data", i), cat("0 ", i, "\n")));
  BatchReader first(small_batches(), paths, {.passes = 2, .share = 0, .num_shares = 2});
  BatchReader second(small_batches(), paths, {.passes = 2, .share = 1, .num_shares = 2});
  EXPECT_THAT(ids(first, 0), ElementsAre(0, 2, 4));
  EXPECT_THAT(ids(first, 1), ElementsAre(0, 2, 4));
  EXPECT_THAT(ids(second, 0), ElementsAre(1, 3));
}

// However many files there are: dealt out, a full shuffle would leave each example with one trainer for good.
TEST_F(Reader, AGlobalShuffleDealsTheBatchesOfOnePermutationOfAllFiles) {
  constexpr size_t kBatch = 7;  // of small_batches
  std::vector<std::string> paths;
  for (int i = 0; i < 4; ++i) {
    std::string lines;
    for (int n = 0; n < 25; ++n) lines += cat("0 ", 25 * i + n, "\n");
    paths.push_back(put_file(cat("data", i), lines));
  }
  DataOptions whole = small_batches(), options = small_batches();
  whole.shuffle = "full";
  options.shuffle = "global";
  BatchReader all(whole, paths, {.passes = 2});
  std::set<int> of_first;
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<int> permutation = ids(all, pass);
    for (int share = 0; share < 3; ++share) {
      BatchReader reader(options, paths, {.passes = 2, .share = share, .num_shares = 3});
      std::vector<int> expected;
      for (size_t i = 0; i < permutation.size(); ++i) {
        if (static_cast<int>(i / kBatch % 3) == share) expected.push_back(permutation[i]);
      }
      const std::vector<int> own = ids(reader, pass);
      EXPECT_EQ(own, expected) << "pass " << pass << ", share " << share;
      if (share == 0) of_first.insert(own.begin(), own.end());
    }
  }
  EXPECT_GT(of_first.size(), 45u) << "the first trainer has the same examples in both passes";
}

TEST_F(Reader, EverySplitOfTheInputGivesTheSameBatches) {
  std::string text = "\xef\xbb\xbf" + sample_lines(20) + "\r\n1 5:3";
  std::vector<std::string> expected = read_pipe(small_batches(), {text});
  ASSERT_EQ(expected.size(), 3u);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    ASSERT_EQ(read_pipe(small_batches(), {text.substr(0, cut), text.substr(cut)}), expected)
        << "cut at " << cut;
  }
  std::vector<std::string> bytes;
  for (char c : text) bytes.emplace_back(1, c);
  EXPECT_EQ(read_pipe(small_batches(), bytes), expected);
}

TEST_F(Reader, AnyNumberOfThreadsGivesTheSameBatches) {
  std::string path = put_file("data", sample_lines(60000));
  std::vector<std::string> expected;
  for (int threads : {1, 2, 4}) {
    BatchReader reader(small_batches(), {path}, {.threads = threads});
    std::vector<std::string> found = read_batches(reader);
    ASSERT_EQ(found.size(), 60000u / 7 + 1);
    if (expected.empty()) expected = found;
    EXPECT_TRUE(found == expected) << threads << " threads";
    EXPECT_TRUE(read_batches(reader, 1) == expected) << "second pass, " << threads << " threads";
  }
}

TEST_F(Reader, BatchesCrossFilesAndOnlyTheLastIsShort) {
  DataOptions options = options_for("libsvm");
  options.batch_size = 3;
  BatchReader reader(options, {put_file("a", "1 1\n2 1"), put_file("empty", ""), put_file("b", "3 1\n4 1\n")},
                     {});
  EXPECT_THAT(read_batches(reader),
              ElementsAre("1 features:1\n2 features:1\n3 features:1\n", "4 features:1\n"));
  EXPECT_EQ(reader.progress().bytes_read, 15u);
  EXPECT_EQ(reader.progress().total_bytes, 15u);
  EXPECT_EQ(reader.progress().examples, 4u);
}

TEST_F(Reader, FoldersAreSortedAndListsNameTheirFiles) {
  std::filesystem::create_directories(folder_ + "/d/sub");
  put_file("d/b", "2 1\n");
  put_file("d/a", "1 1\n");
  put_file("d/.hidden", "junk");
  put_file("d/sub/c", "3 1\n");
  put_file("d/all.list", "# two of them\nb\r\n\nsub/c\n");
  auto labels = [&](const std::string& path) {
    BatchReader reader(options_for("libsvm"), {folder_ + "/" + path}, {});
    reader.begin_pass(0);
    Batch batch;
    reader.next(batch);
    return batch.labels;
  };
  EXPECT_THAT(labels("d"), ElementsAre(1, 2, 3));
  EXPECT_THAT(labels("d/all.list"), ElementsAre(2, 3));
}

TEST_F(Reader, InputsThatAreNotThereOrCannotBeReadAreUsageErrors) {
  DataOptions options = options_for("libsvm");
  EXPECT_EQ(error_from([&] { BatchReader(options, {folder_ + "/none"}, {}); }),
            "2: cannot open 'none': no such file or directory");
  EXPECT_EQ(error_from([&] { BatchReader(options, {}, {}); }),
            "2: no data: name a file, a list, a folder, or - for standard input");
  EXPECT_EQ(error_from([&] {
              BatchReader(options, {"-", "-"}, {});
            }),
            "2: standard input is given more than once");
  put_file("loop.list", "loop.list\n");
  EXPECT_THAT(error_from([&] { BatchReader(options, {folder_ + "/loop.list"}, {}); }),
              testing::HasSubstr("too deep"));
}

TEST_F(Reader, BadLinesAreSkippedUpToTheLimit) {
  DataOptions options = options_for("libsvm", 10);
  std::string text = "1 1\nbad\n2 99\n3 3:x\n4 4\n";
  options.max_bad_lines = 3;
  BatchReader reader(options, {put_file("data", text)}, {});
  EXPECT_THAT(read_batches(reader), ElementsAre("1 features:1\n4 features:4\n"));
  EXPECT_EQ(reader.bad_lines(), 3);
  options.max_bad_lines = 2;
  EXPECT_EQ(error_of(options, text),
            "3: data:4: value 'x' of key 3 is not a number (after 2 bad lines that were skipped)");
}

TEST_F(Reader, BatchesBeforeTheBadLineComeFirstAndHalfALineLeavesNothing) {
  DataOptions options = options_for("libsvm", 10);
  options.batch_size = 2;
  BatchReader reader(options, {put_file("data", "1 1\n2 2:5\n3 3\n4 4:2 5:6 77\n5 5\n6 6\n")}, {});
  reader.begin_pass(0);
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_THAT(batch.labels, ElementsAre(1, 2));
  EXPECT_EQ(error_from([&] { reader.next(batch); }), "3: data:4: id 77 is outside dim 10");
  options.max_bad_lines = 1;
  EXPECT_THAT(read(options, "1 1\n4 4:2 5:6 77\n5 5\n6 6:3\n"),
              ElementsAre("1 features:1", "5 features:5", "6 features:6=3"));
}

TEST_F(Reader, LineNumbersHoldAcrossBlocks) {
  std::string text = sample_lines(50000) + "oops\n";
  EXPECT_EQ(error_of(options_for("libsvm"), text, {.threads = 3}),
            "3: data:50001: label 'oops' is not a number");
}

TEST_F(Reader, LinesOfManyMegabytesAreReadAndLongerOnesRefused) {
  std::string line = "1";
  while (line.size() < 3'000'000) line += " 7";
  EXPECT_EQ(read(options_for("libsvm"), "0 1\n" + line + "\n2 2\n").size(), 3u);
  EXPECT_EQ(error_of(options_for("libsvm"), "0 1\n" + std::string(17 << 20, '1') + "\n"),
            "3: data:2: line is longer than 16 MiB");
}

TEST_F(Reader, FullShuffleIsAPermutationThatSeedAndPassAloneDecide) {
  DataOptions options = options_for("libsvm");
  options.shuffle = "full";
  std::string path = put_file("data", numbered(5000));
  BatchReader one(options, {path}, {.threads = 1, .seed = 7}),
      four(options, {path}, {.threads = 4, .seed = 7});
  std::vector<int> first = ids(one, 0), second = ids(one, 1), sorted = first, all(5000);
  std::iota(all.begin(), all.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all);
  EXPECT_NE(first, all);
  EXPECT_NE(first, second);
  EXPECT_EQ(ids(four, 1), second);
  EXPECT_EQ(ids(four, 0), first);
  BatchReader other(options, {path}, {.seed = 8});
  EXPECT_NE(ids(other, 0), first);
}

TEST_F(Reader, WindowShuffleMovesExamplesForwardByLessThanTheWindow) {
  DataOptions options = options_for("libsvm");
  options.shuffle = "window";
  options.shuffle_window = 100;
  std::string path = put_file("data", numbered(20000));
  BatchReader one(options, {path}, {.threads = 1}), four(options, {path}, {.threads = 4});
  std::vector<int> order = ids(one, 0), sorted = order, all(20000);
  for (int i = 0; i < 20000; ++i) ASSERT_LT(order[static_cast<size_t>(i)], i + 100);
  std::iota(all.begin(), all.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, all);
  EXPECT_NE(order, all);
  EXPECT_EQ(ids(four, 0), order);
  EXPECT_NE(ids(four, 1), order);
}

TEST_F(Reader, AStreamOfSeveralPassesIsServedFromMemory) {
  for (const char* shuffle : {"none", "window", "full"}) {
    DataOptions options = small_batches();
    options.shuffle = shuffle;
    options.shuffle_window = 500;
    std::string text = sample_lines(3000);
    BatchReader file(options, {put_file("data", text)}, {});
    FedPipe pipe({text});
    BatchReader stream(options, {"-"}, {.threads = 2, .passes = 3, .stdin_descriptor = pipe.descriptor()});
    for (int pass = 0; pass < 3; ++pass) {
      EXPECT_TRUE(read_batches(stream, pass) == read_batches(file, pass)) << shuffle << ", pass " << pass;
    }
  }
}

TEST_F(Reader, AStreamLeftBeforeItsEndIsWholeInTheNextPass) {
  FedPipe pipe({numbered(5000)});
  BatchReader reader(small_batches(), {"-"}, {.passes = 2, .stdin_descriptor = pipe.descriptor()});
  reader.begin_pass(0);
  Batch batch;
  reader.next(batch);
  EXPECT_EQ(ids(reader, 1).size(), 5000u);
}

TEST_F(Reader, AStreamOfOnePassIsNotKeptAndNotReadTwice) {
  FedPipe pipe({numbered(10)});
  BatchReader reader(small_batches(), {"-"}, {.passes = 1, .stdin_descriptor = pipe.descriptor()});
  EXPECT_EQ(ids(reader, 0).size(), 10u);
  EXPECT_EQ(error_from([&] { reader.begin_pass(1); }),
            "2: standard input and pipes can be read once, and another pass was asked for: set the passes");
}

TEST_F(Reader, ExamplesThatDoNotFitInMemoryAreRefused) {
  DataOptions options = options_for("libsvm");
  options.shuffle = "full";
  options.memory_limit = "10K";
  EXPECT_THAT(error_of(options, numbered(5000)),
              testing::StartsWith("6: the examples kept in memory take more than"));
}

// The writer sends one batch and then nothing: a reader that waited for more would never return.
TEST_F(Reader, ASlowPipeDeliversItsBatchesAtOnceAndItsReaderEndsWhileItWaits) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    DataOptions options = options_for("auto");
    options.batch_size = 2;
    std::string lines = "1 1:1\n2 2:1\n3 3";
    ASSERT_EQ(write(ends[1], lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
    BatchReader reader(options, {"-"}, {.threads = 3, .stdin_descriptor = ends[0]});
    reader.begin_pass(0);
    Batch batch;
    ASSERT_TRUE(reader.next(batch));
    EXPECT_THAT(batch.labels, ElementsAre(1, 2));
    auto waiting = std::async(std::launch::async, [&] { return reader.next(batch); });
    reader.interrupt();
    EXPECT_FALSE(waiting.get());
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Reader, AnInterruptIsNoFaultOfTheDataItCutsShort) {
  std::string stored = gzip(sample_lines(1000));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_GT(write(ends[1], stored.data(), stored.size() - 5), 0);
  BatchReader reader(small_batches(), {"-"}, {.stdin_descriptor = ends[0]});
  reader.begin_pass(0);
  Batch batch;
  ASSERT_TRUE(reader.next(batch));
  reader.interrupt();
  EXPECT_FALSE(reader.next(batch));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Reader, AReaderIsDestroyedWhileItsThreadsWaitForAStream) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    BatchReader reader(options_for("libsvm"), {"-"}, {.threads = 2, .stdin_descriptor = ends[0]});
    reader.begin_pass(0);
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Reader, TransformationsScaleTakeLogarithmsAndHash) {
  DataOptions options = options_for("libsvm", 100);
  options.unit_length = true;
  EXPECT_THAT(read(options, "1 1:3 2:-4\n0 1 2 3 4\n0 5:0\n0\n"),
              ElementsAre("1 features:1=0.6,2=-0.8", "0 features:1=0.5,2=0.5,3=0.5,4=0.5", "0 features:5=0",
                          "0 features:"));
  options.unit_length = false;
  options.log_counts = true;
  EXPECT_THAT(read(options, "1 1:3 2:-7 3:1 4\n"), ElementsAre("1 features:1=2,2=-3,3=1,4=1"));
  options.log_counts = false;
  options.hash_bits = 4;
  BatchReader reader(options, {put_file("data", numbered(90))}, {});
  EXPECT_EQ(reader.schema().slots[0].dim, 16);
  std::vector<int> hashed = ids(reader, 0);
  EXPECT_EQ(*std::max_element(hashed.begin(), hashed.end()), 15);
  EXPECT_EQ(error_of(options, "1 100\n"), "3: data:1: id 100 is outside dim 100");
}

}  // namespace ps::reader_test
