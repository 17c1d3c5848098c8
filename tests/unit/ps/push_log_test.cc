// Logs: what was said to be on the disk comes back, whatever happens to the process and the disk.
#include "ps/log/push_log.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "config/json.h"
#include "net/sim/sim_network.h"
#include "ps/log/push_log_reader.h"
#include "support/damage.h"
#include "support/faulty_files.h"
#include "support/scratch_folder.h"

namespace ps::push_log_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Texts = std::vector<std::string>;

class PushLogTest : public testing::Test {
 protected:
  void open(LogEnd end = {}) {
    if (end.header.prior == 0) end.header.is_base = true;
    end.header.owner = {Json::object(), Json::object(), Json::object(), "baseline", false, ""};
    PushLogSettings settings{.folder = folder_, .files = &files_, .own_thread = false};
    settings.newest_checkpoint = [this] { return newest_; };
    log_ = std::make_unique<PushLog>(network_.host("server").loop(), settings,
                                     [this](const Error& error) { errors_.push_back(error); });
    log_->begin(std::move(end));
  }
  void add(const std::string& text) {
    log_->add(ShardEvent::kPush, 3, text);
    log_->when_synced([this, text](const Error* error) { (error ? refused_ : synced_).push_back(text); });
  }
  void turn() {
    network_.run_until([] { return false; }, network_.now() + 1s);
  }
  // A batch of its own for each.
  void add_all(const Texts& texts) {
    for (const std::string& text : texts) add(text), turn();
  }

  struct Read {
    Texts texts;
    LogEnd end;
  };
  std::optional<Read> read(std::optional<CheckpointStep> checkpoint = {}) {
    std::optional<PushLogReader> log = PushLogReader::open(folder_, checkpoint, why_);
    if (!log) return std::nullopt;
    Read result;
    result.end = log->read([&](ShardEvent event, int rank, std::string_view body) {
      EXPECT_EQ(event, ShardEvent::kPush);
      EXPECT_EQ(rank, 3);
      result.texts.emplace_back(body);
    });
    return result;
  }
  Texts texts(std::optional<CheckpointStep> checkpoint = {}) {
    std::optional<Read> result = read(checkpoint);
    return result ? result->texts : Texts{"no log"};
  }
  // Writes a log while this call fails, and has a crash; false when there are not so many calls.
  bool acknowledges_what_stays(int error, int64_t call, FaultyFiles::Loss loss) {
    SCOPED_TRACE(cat("error ", error, " at call ", call));
    synced_.clear();
    refused_.clear();
    errors_.clear();
    files_.remove(folder_);
    files_.fail_at(call, error);
    open();
    add_all({"a", "b"});
    log_->begin_base({9, 7}, "snapshot");
    add_all({"c", "d"});
    log_.reset();
    files_.heal();
    EXPECT_LE(errors_.size(), 1u) << "said once";
    for (const Error& each : errors_) {
      EXPECT_EQ(each.code(), error == ENOSPC ? Code::kExhausted : Code::kUnavailable);
    }
    EXPECT_EQ(synced_.size() + refused_.size(), 4u);
    EXPECT_EQ(refused_.empty(), errors_.empty());
    files_.crash(loss);
    const Texts back = texts();
    if (!synced_.empty()) {
      EXPECT_GE(back.size(), synced_.size());
      EXPECT_TRUE(std::equal(synced_.begin(), synced_.end(), back.begin()));
    }
    return !errors_.empty();
  }
  std::string segment(uint64_t number) const { return join_path(folder_, segment_file(number)); }

  ScratchFolder scratch_;
  const std::string folder_ = scratch_.path("log-d0-s0");
  FaultyFiles files_{scratch_.path()};
  SimNetwork network_{1};
  std::unique_ptr<PushLog> log_;
  std::string newest_, why_;
  Texts synced_, refused_;
  std::vector<Error> errors_;
};

TEST_F(PushLogTest, WhatComesInOneTurnIsSyncedOnce) {
  open();
  turn();
  const uint64_t before = log_->counters().syncs;
  for (const char* text : {"a", "b", "c"}) add(text);
  EXPECT_THAT(synced_, IsEmpty());
  turn();
  EXPECT_THAT(synced_, ElementsAre("a", "b", "c"));
  EXPECT_EQ(log_->counters().syncs, before + 1);
  EXPECT_THAT(texts(), ElementsAre("a", "b", "c"));
}

TEST_F(PushLogTest, GoesOnInANewSegmentWhoeverDiesHoweverOften) {
  open();
  add_all({"a", "b"});
  open(read()->end);
  turn();  // dies before anything came
  open(read()->end);
  turn();
  open(read()->end);
  add_all({"c"});
  EXPECT_THAT(texts(), ElementsAre("a", "b", "c"));
}

TEST_F(PushLogTest, ALogWithoutEventsIsOne) {
  open();
  turn();
  EXPECT_THAT(texts(), IsEmpty());
  EXPECT_FALSE(read(CheckpointStep{1, 5}).has_value());
  EXPECT_THAT(why_, HasSubstr("goes on from the beginning, not from that at step 5"));
}

// Batches before the checkpoint are kept until the checkpoint counts.
TEST_F(PushLogTest, BeginsAnewWithACheckpointThatCounts) {
  open();
  add_all({"a"});
  log_->begin_base({9, 7}, "snapshot");
  add_all({"b"});
  EXPECT_THAT(texts(), ElementsAre("a", "b"));
  EXPECT_THAT(texts(CheckpointStep{9, 7}), ElementsAre("b"));
  EXPECT_THAT(texts(CheckpointStep{8, 7}), ElementsAre("no log"));
  log_->prune();
  EXPECT_THAT(texts(), ElementsAre("a", "b")) << "it does not count yet";
  newest_ = "step-000000007";
  log_->prune();
  EXPECT_THAT(texts(), ElementsAre("no log"));
  EXPECT_EQ(PushLogReader::open(folder_, CheckpointStep{9, 7}, why_)->snapshot(), "snapshot");
  EXPECT_THAT(log_segments(folder_), ElementsAre(2));
}

TEST_F(PushLogTest, FilesThatCannotBeRemovedAreRemovedAtALaterCall) {
  open();
  add_all({"a"});
  log_->begin_base({9, 7}, "snapshot");
  add_all({"b"});
  newest_ = "step-000000007";
  files_.fail_at(0, EIO);
  log_->prune();
  EXPECT_THAT(log_segments(folder_), ElementsAre(1, 2));
  files_.heal();
  log_->prune();
  EXPECT_THAT(log_segments(folder_), ElementsAre(2));
  EXPECT_THAT(errors_, IsEmpty());
  EXPECT_THAT(texts(CheckpointStep{9, 7}), ElementsAre("b"));
}

TEST_F(PushLogTest, AnotherRunsLogIsRemovedWhenItsSuccessorHasBegun) {
  open();
  add_all({"a"});
  open();
  add_all({"b"});
  EXPECT_THAT(texts(), ElementsAre("b"));
  EXPECT_THAT(log_segments(folder_), ElementsAre(2));
}

// Every call of the file system fails once, and then the power does.
TEST_F(PushLogTest, NothingIsAcknowledgedThatACrashTakes) {
  for (const int error : {ENOSPC, EIO}) {
    for (const auto loss : {FaultyFiles::Loss::kNamesAndBytes, FaultyFiles::Loss::kBytes}) {
      int64_t call = 0;
      while (acknowledges_what_stays(error, call, loss)) ++call;
      EXPECT_GT(call, 15);
    }
  }
}

TEST_F(PushLogTest, ATornTailOfAnyLengthIsCutOff) {
  open();
  turn();
  add_all({"a", "b", std::string(200, 'c')});
  std::set<Texts> seen;
  with_each_cut(segment(1), [&](const std::string& what) {
    SCOPED_TRACE(what);
    seen.insert(texts());
  });
  EXPECT_THAT(seen, ElementsAre(Texts{}, Texts{"a"}, Texts{"a", "b"}, Texts{"no log"}));
}

// A damaged last batch cannot be told from one that was never written completely.
TEST_F(PushLogTest, EveryFlippedBitIsFoundOrIsInTheLastBatch) {
  open();
  add_all({"a", "b"});
  const uint64_t last = std::filesystem::file_size(segment(1));
  add_all({"c"});
  size_t found = 0, cut = 0;
  with_each_bit_flipped(segment(1), [&](const std::string& what) {
    SCOPED_TRACE(what);
    const uint64_t offset = static_cast<uint64_t>(std::stoll(what.substr(4))) / 8;
    Texts back;
    const Error error = error_of([&] { back = texts(); });
    if (offset >= last) {
      EXPECT_THAT(back, ElementsAre("a", "b"));
      const std::vector<TornBytes> torn = read()->end.torn;
      ASSERT_EQ(torn.size(), 1u) << "it is not passed over without a word";
      EXPECT_EQ(torn[0].file, segment(1));
      EXPECT_EQ(torn[0].offset, last);
      EXPECT_GE(torn[0].bytes, kBatchHeadBytes + 14) << "an event of one byte";
      cut += static_cast<uint64_t>(try_every());
    } else if (offset >= kSegmentMagic.size() && offset < kBatchAlignment) {
      EXPECT_THAT(back, ElementsAre("a", "b", "c")) << "nothing is there";
      EXPECT_THAT(read()->end.torn, IsEmpty());
    } else {
      EXPECT_EQ(error.code(), Code::kCorrupt) << error.message();
      EXPECT_THAT(error.message(), HasSubstr("000000001.psl: offset "));
      found += static_cast<uint64_t>(try_every());
    }
  });
  EXPECT_GT(found, 1000);
  EXPECT_GT(cut, 100);
}

TEST_F(PushLogTest, WhatIsPassedOverIsTold) {
  open();
  add_all({"a"});
  const uint64_t whole = std::filesystem::file_size(segment(1));
  EXPECT_THAT(read()->end.torn, IsEmpty());
  std::filesystem::resize_file(segment(1), whole + 1000);
  EXPECT_THAT(read()->end.torn, IsEmpty()) << "zeros are what a file system puts there";
  std::string bytes = read_file(segment(1));
  bytes[whole + 5] = 'x';
  write_file(segment(1), bytes);
  ASSERT_EQ(read()->end.torn.size(), 1u);
  EXPECT_EQ(read()->end.torn[0].text(), cat("6 bytes behind offset ", whole, " of ", segment(1),
                                            " are no whole batch: a crash, or damage"));
}

// A segment that does not begin, in front of one that does or alone.
TEST_F(PushLogTest, ASegmentThatIsPassedOverIsTold) {
  open();
  add_all({"a"});
  write_file(segment(2), "pskitlog");
  ASSERT_TRUE(read());
  ASSERT_EQ(read()->end.torn.size(), 1u);
  EXPECT_EQ(read()->end.torn[0].file, segment(2));
  EXPECT_EQ(read()->end.torn[0].offset, 0u);
  EXPECT_EQ(read()->end.torn[0].bytes, 8u);
  files_.remove(segment(1));
  EXPECT_FALSE(read());
  EXPECT_EQ(why_, cat("8 bytes behind offset 0 of ", segment(2), " are no whole batch: a crash, or damage"));
}

// A forged segment that names itself, or a later one, as the one before it.  The alarm ends a reader that follows it
// without end.
TEST_F(PushLogTest, ASegmentThatGoesOnFromItselfIsNotFollowed) {
  open();
  add_all({"a"});
  for (const uint64_t prior : {1, 2}) {
    SegmentHeader header;
    header.prior = prior;
    header.prior_end = kBatchAlignment;
    header.owner = {Json::object(), Json::object(), Json::object(), "baseline", false, ""};
    for (int size = 0; size < 9; ++size) header.prior_end = encode_segment(header, "", "").size();
    write_file(segment(1), encode_segment(header, "", ""));
    if (prior == 2) {
      header.number = 2, header.prior = 1;
      write_file(segment(2), encode_segment(header, "", ""));
    }
    EXPECT_EXIT(
        {
          alarm(20);
          std::exit(read() ? 1 : 0);
        },
        testing::ExitedWithCode(0), "");
  }
}

// Also its last batch: that is in the next one, if it has to be.
TEST_F(PushLogTest, DamageOfASegmentThatIsContinuedIsFound) {
  open();
  add_all({"a", "b"});
  open(read()->end);
  add_all({"c"});
  with_each_bit_flipped(segment(1), [&](const std::string& what) {
    SCOPED_TRACE(what);
    Texts back;
    const Error error = error_of([&] { back = texts(); });
    if (error.message().empty()) {
      EXPECT_THAT(back, ElementsAre("a", "b", "c"));
    } else {
      EXPECT_EQ(error.code(), Code::kCorrupt) << error.message();
    }
  });
  with_each_cut(segment(1), [&](const std::string& what) {
    SCOPED_TRACE(what);
    Texts back;
    const Error error = error_of([&] { back = texts(); });
    if (error.message().empty()) {
      EXPECT_THAT(back, ElementsAre("a", "b", "c"));
    }
  });
}

}  // namespace
}  // namespace ps::push_log_test
