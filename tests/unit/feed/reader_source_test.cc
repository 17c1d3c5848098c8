#include "feed/reader_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "support/scratch_folder.h"
#include "unit/feed/batches.h"

namespace ps::reader_source_test {
namespace {

class ReaderSourceTest : public testing::Test {
 protected:
  static constexpr int kExamples = 100, kBatchSize = 10, kBatches = 10;

  ReaderSourceTest() {
    std::string text;
    for (int i = 0; i < kExamples; ++i) text += cat(i % 2, " ", i % 50, ":1 ", 50 + i % 7, ":1\n");
    write_file(path_, text);
  }

  BatchReader reader() const {
    DataOptions data;
    data.format = "libsvm";
    data.dim = 100;
    data.batch_size = kBatchSize;
    return BatchReader(data, {path_}, {.threads = 1, .passes = 3});
  }

  static Network<float> network(const BatchReader& reader) {
    const char* const model = R"({
      "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1, "sparse_update": true}],
      "cost": {"type": "binary_cross_entropy", "input": "score"}})";
    return Network<float>(ModelOptions::spec().parse(parse_json(model, "model"), "model"), reader.schema(),
                          1);
  }

  // The step and the ids of each batch that is left of the pass.
  std::vector<std::string> rest(BatchSource& source) {
    std::vector<std::string> out;
    while (const PreparedBatch* prepared = source.next(kGoOn)) {
      std::string text = cat(prepared->step, ":");
      for (Key key : prepared->batch.slots[0].keys) text += cat(" ", key);
      for (Key key : prepared->plans[0].keys) text += cat(" ", key);
      out.push_back(text);
    }
    return out;
  }

  ScratchFolder folder_;
  const std::string path_ = folder_.path("data.libsvm");
  const BatchSource::Stop kGoOn = [] { return false; };
};

TEST_F(ReaderSourceTest, EveryPassHasTheSameBatchesWithTheNumbersThatItIsGiven) {
  for (int threads : {1, 3}) {
    BatchReader reader = this->reader();
    Network<float> network = this->network(reader);
    ReaderSource source(network, reader, {.threads = threads});
    std::vector<std::string> first;
    for (int pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(source.begin_pass({.pass = pass, .training = true, .steps = {5, 2}}, kGoOn), 0);
      const std::vector<std::string> batches = rest(source);
      source.end_pass();
      ASSERT_EQ(batches.size(), size_t{kBatches});
      EXPECT_TRUE(batches[3].starts_with("11:")) << batches[3];
      if (pass == 0) first = batches;
      EXPECT_EQ(batches, first);
    }
  }
}

TEST_F(ReaderSourceTest, SkippedBatchesAreReadAndNotHandedOut) {
  BatchReader reader = this->reader();
  Network<float> network = this->network(reader);
  ReaderSource source(network, reader, {});
  source.begin_pass({.training = true}, kGoOn);
  const std::vector<std::string> all = rest(source);
  EXPECT_EQ(source.begin_pass({.pass = 1, .skip = 4, .training = true, .steps = {4, 1}}, kGoOn), 4);
  EXPECT_EQ(rest(source), std::vector<std::string>(all.begin() + 4, all.end()));
}

TEST_F(ReaderSourceTest, SkippingEndsWithTheDataAndWhenItIsStopped) {
  BatchReader reader = this->reader();
  Network<float> network = this->network(reader);
  ReaderSource source(network, reader, {});
  EXPECT_EQ(source.begin_pass({.skip = 40, .training = true}, kGoOn), kBatches);
  EXPECT_EQ(source.next(kGoOn), nullptr);
  int asked = 0;
  EXPECT_EQ(source.begin_pass({.pass = 1, .skip = 40, .training = true}, [&] { return ++asked > 3; }), 3);
}

TEST_F(ReaderSourceTest, AfterItsEndAPassLeavesTheReaderToItsOwner) {
  for (int threads : {1, 3}) {
    BatchReader reader = this->reader();
    Network<float> network = this->network(reader);
    ReaderSource source(network, reader, {.threads = threads});
    source.begin_pass({.training = false}, kGoOn);
    const std::vector<std::string> all = rest(source);
    source.end_pass();
    EXPECT_EQ(reader.bad_lines(), 0);
    source.end_pass();  // does nothing
    source.begin_pass({.pass = 1}, kGoOn);
    EXPECT_EQ(rest(source), all);
  }
}

TEST_F(ReaderSourceTest, BatchesThatAreReadyAreSeenBeforeTheirTimeInTheirOrder) {
  constexpr size_t kAhead = 4;
  BatchReader reader = this->reader();
  Network<float> network = this->network(reader);
  ReaderSource source(network, reader, {.threads = 2, .ahead = kAhead});
  source.begin_pass({.training = true}, kGoOn);
  for (int64_t step = 0; step < kBatches; ++step) {
    ASSERT_EQ(source.next(kGoOn)->step, step);
    const size_t left = static_cast<size_t>(kBatches - 1 - step);
    for (size_t calls = 1; calls <= std::min(kAhead, left); ++calls) {
      while (source.peek(calls) == nullptr) std::this_thread::yield();
      EXPECT_EQ(source.peek(calls)->step, step + static_cast<int64_t>(calls));
    }
    EXPECT_EQ(source.peek(left + 1), nullptr);
    EXPECT_FALSE(source.ends_within(left)) << "there is such a batch";
    while (left < kAhead && !source.ends_within(left + 1)) std::this_thread::yield();
    EXPECT_EQ(source.peek(100), nullptr) << "that none is read for yet";
  }
}

// Threads that prepare wait for a free slot then.
TEST_F(ReaderSourceTest, APassCanBeGivenUpInItsMidst) {
  BatchReader reader = this->reader();
  Network<float> network = this->network(reader);
  ReaderSource source(network, reader, {.threads = 2});
  source.begin_pass({.training = true}, kGoOn);
  ASSERT_NE(source.next(kGoOn), nullptr);
  source.end_pass();
  EXPECT_EQ(source.fraction_read(), 0);
  EXPECT_EQ(reader.bad_lines(), 0);
}

}  // namespace
}  // namespace ps::reader_source_test
