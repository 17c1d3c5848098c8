// Threads of the pipeline: the consumer's thread parses too, except where it would wait for a stream.
#include "data/parse_pipeline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"

namespace ps::parse_pipeline_test {

namespace {

constexpr uint64_t kBlocks = 200;

// Numbers blocks as they are read, and notes who reads and who parses.
class Numbered {
 public:
  ParsePipeline::Read read() {
    return [this](Block& block) {
      std::lock_guard lock(mutex_);
      readers_.insert(std::this_thread::get_id());
      block.position = read_++;
      return block.position < kBlocks;
    };
  }
  ParsePipeline::Parse parse() {
    return [this](const Block& block, Parsed& out) {
      std::lock_guard lock(mutex_);
      parsers_.insert(std::this_thread::get_id());
      out.batch.labels = {static_cast<float>(block.position)};
    };
  }

  const std::set<std::thread::id>& readers() const { return readers_; }
  const std::set<std::thread::id>& parsers() const { return parsers_; }

 private:
  std::mutex mutex_;
  uint64_t read_ = 0;
  std::set<std::thread::id> readers_, parsers_;
};

void expect_all_in_order(ParsePipeline& pipeline) {
  for (uint64_t i = 0; i < kBlocks; ++i) {
    const Parsed* parsed = pipeline.next();
    ASSERT_NE(parsed, nullptr);
    ASSERT_EQ(parsed->batch.labels, std::vector<float>{static_cast<float>(i)});
  }
  EXPECT_EQ(pipeline.next(), nullptr);
}

const std::set<std::thread::id> kConsumer = {std::this_thread::get_id()};

}  // namespace

TEST(ParsePipelineTest, OfOneThreadRunsInTheConsumers) {
  for (bool read_may_wait : {false, true}) {
    Numbered blocks;
    ParsePipeline pipeline(blocks.read(), blocks.parse(), 1, read_may_wait);
    expect_all_in_order(pipeline);
    EXPECT_EQ(blocks.readers(), kConsumer);
    EXPECT_EQ(blocks.parsers(), kConsumer);
  }
}

TEST(ParsePipelineTest, LeavesReadingThatMayWaitToItsOwnThreads) {
  Numbered blocks;
  ParsePipeline pipeline(blocks.read(), blocks.parse(), 2, /*read_may_wait=*/true);
  expect_all_in_order(pipeline);
  EXPECT_FALSE(blocks.readers().contains(std::this_thread::get_id()));
  EXPECT_FALSE(blocks.parsers().contains(std::this_thread::get_id()));
}

// Each of the first two blocks is parsed only once the other one is being parsed: that takes two threads, one
// of which is the consumer's.
TEST(ParsePipelineTest, TakesTheConsumersThreadForOneOfTwo) {
  Numbered blocks;
  std::promise<void> begun[2];
  auto plain = blocks.parse();
  bool met[2] = {false, false};
  auto parse = [&](const Block& block, Parsed& out) {
    if (block.position < 2) {
      begun[block.position].set_value();
      auto other = begun[1 - block.position].get_future();
      met[block.position] = other.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    }
    plain(block, out);
  };
  ParsePipeline pipeline(blocks.read(), parse, 2, /*read_may_wait=*/false);
  expect_all_in_order(pipeline);
  EXPECT_TRUE(met[0] && met[1]);
  EXPECT_TRUE(blocks.parsers().contains(std::this_thread::get_id()));
  EXPECT_LE(blocks.parsers().size(), 2u);
}

TEST(ParsePipelineTest, GivesWhatCameBeforeAnErrorAndThenTheError) {
  for (int threads : {1, 2, 4}) {
    Numbered blocks;
    auto plain = blocks.parse();
    auto parse = [&](const Block& block, Parsed& out) {
      if (block.position == 50) fail(Code::kCorrupt, "block 50");
      plain(block, out);
    };
    ParsePipeline pipeline(blocks.read(), parse, threads, /*read_may_wait=*/false);
    for (int i = 0; i < 50; ++i) ASSERT_NE(pipeline.next(), nullptr);
    EXPECT_THROW(pipeline.next(), Error);
  }
}

}  // namespace ps::parse_pipeline_test
