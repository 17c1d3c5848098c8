#include "ps/server/checkpoint_shard_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "base/file.h"
#include "support/scratch_folder.h"

namespace ps::checkpoint_shard_service_test {
namespace {

using testing::HasSubstr;

// The outcome of a request.
struct Outcome {
  std::optional<CheckpointShardAnswer> answer;
  std::optional<Error> error;
  bool has_no_memory = false;  // the answer finds none
};

class KeptReply final : public Reply {
 public:
  explicit KeptReply(Outcome& outcome) : outcome_(outcome) {}
  void answer(std::shared_ptr<const Payload> payload) override {
    if (outcome_.has_no_memory) throw std::bad_alloc();
    outcome_.answer = decode_shard_answer(payload->parts.at(0));
  }
  void fail(const Error& error) override { outcome_.error = error; }
  bool wanted() const override { return true; }

 private:
  Outcome& outcome_;
};

class CheckpointShardServiceTest : public testing::Test {
 protected:
  void ask(uint64_t step, Outcome& outcome, bool comes = true) {
    shards_.ask(step, comes, std::make_unique<KeptReply>(outcome));
  }

  void add(int64_t step, const CheckpointShardAnswer& answer) {
    shards_.add(step, answer, {folder_.path(cat("writing-", step)), folder_.path(cat(step))});
  }

  static CheckpointShardAnswer shard_of(int64_t step) {
    return {Manifest{.step = step, .generation = 7, .files = {{.path = "rows.psc", .sum = {.bytes = 5}}}},
            ""};
  }

  std::string read(const CheckpointShardSlice& slice) {
    const std::string answer = shards_.read(slice);
    return std::string(decode_shard_bytes(answer).value_or("gone"));
  }

  ScratchFolder folder_;
  CheckpointShardService shards_;
};

TEST_F(CheckpointShardServiceTest, FilesOfACheckpointThatLaterOnesHavePassedDoNotComeAnyMore) {
  Outcome passed, present;
  ask(3, passed);
  ask(4, present);
  shards_.end_before(4);
  ASSERT_TRUE(passed.answer);
  EXPECT_FALSE(passed.answer->manifest);
  EXPECT_FALSE(present.answer);
  add(4, shard_of(4));
  EXPECT_TRUE(present.answer);
}

// A request that is dropped without an answer would be made again and again.
TEST_F(CheckpointShardServiceTest, AnAnswerForWhichThereIsNoMemoryIsThatError) {
  Outcome before, after, well;
  before.has_no_memory = after.has_no_memory = true;
  ask(3, before);
  ask(3, well);
  add(3, shard_of(3));
  ask(3, after);
  for (const Outcome* outcome : {&before, &after}) {
    ASSERT_TRUE(outcome->error);
    EXPECT_EQ(outcome->error->code(), Code::kExhausted);
  }
  EXPECT_TRUE(well.answer) << "the others have theirs";
}

TEST_F(CheckpointShardServiceTest, ARequestIsAnsweredWhenTheFilesAreWritten) {
  Outcome early, late, other;
  ask(3, early);
  ask(4, other);
  EXPECT_FALSE(early.answer);
  add(3, shard_of(3));
  ask(3, late);
  for (const Outcome& outcome : {early, late}) {
    ASSERT_TRUE(outcome.answer && outcome.answer->manifest);
    EXPECT_EQ(outcome.answer->manifest->files[0].path, "rows.psc");
  }
  EXPECT_FALSE(other.answer);
  add(4, {std::nullopt, "the disk is full"});
  ASSERT_TRUE(other.answer);
  EXPECT_FALSE(other.answer->manifest);
  EXPECT_EQ(other.answer->why, "the disk is full");
}

TEST_F(CheckpointShardServiceTest, NobodyWaitsForARunThatIsOver) {
  Outcome waiting;
  ask(3, waiting);
  shards_.refuse(Error(Code::kUnavailable, "the server is ending"));
  ASSERT_TRUE(waiting.error);
  EXPECT_THAT(waiting.error->message(), HasSubstr("ending"));
}

TEST_F(CheckpointShardServiceTest, ARequestForForgottenFilesIsRefused) {
  Outcome forgotten, known;
  ask(3, forgotten, /*comes=*/false);
  ASSERT_TRUE(forgotten.answer);
  EXPECT_FALSE(forgotten.answer->manifest);
  add(4, shard_of(4));
  ask(4, known, /*comes=*/false);
  EXPECT_TRUE(known.answer && known.answer->manifest);
}

TEST_F(CheckpointShardServiceTest, SlicesComeFromWhereverTheFileIsNow) {
  add(3, shard_of(3));
  make_directories(folder_.path("writing-3"));
  write_file(folder_.path("writing-3/rows.psc"), "01234");
  EXPECT_EQ(read({3, 0, 3, "rows.psc"}), "012");
  system_files().rename(folder_.path("writing-3"), folder_.path("3"));
  EXPECT_EQ(read({3, 3, 2, "rows.psc"}), "34");
  EXPECT_EQ(read({3, 4, 100, "rows.psc"}), "4") << "to the end of the file";
  system_files().remove(folder_.path("3"));
  EXPECT_EQ(read({3, 3, 2, "rows.psc"}), "gone");
  EXPECT_EQ(read({4, 3, 2, "rows.psc"}), "gone") << "no such step";
}

TEST_F(CheckpointShardServiceTest, OnlyFilesOfTheShardAreGivenOut) {
  write_file(folder_.path("secret"), "secret");
  make_directories(folder_.path("writing-3"));
  add(3, shard_of(3));
  for (const char* name : {"../secret", "MANIFEST.json", "", "/etc/passwd"}) {
    EXPECT_EQ(error_of([&] { read({3, 0, 1, name}); }).code(), Code::kData) << name;
  }
  EXPECT_EQ(error_of([&] { read({3, 0, ~0u, "rows.psc"}); }).code(), Code::kData) << "4 GB at once";
}

TEST_F(CheckpointShardServiceTest, HostileBodiesAreRefused) {
  const std::string slice = encode_shard_slice({3, 4, 5, ""}), request = encode_shard_request(3);
  for (size_t size = 0; size < slice.size(); ++size) {
    EXPECT_EQ(error_of([&] { decode_shard_slice(slice.substr(0, size)); }).code(), Code::kData);
  }
  for (size_t size = 0; size < request.size(); ++size) {
    EXPECT_EQ(error_of([&] { decode_shard_request(request.substr(0, size)); }).code(), Code::kData);
  }
  EXPECT_EQ(error_of([] { decode_shard_answer(std::string()); }).code(), Code::kData);
  EXPECT_EQ(error_of([] { decode_shard_answer(std::string("\1{}")); }).code(), Code::kData);
  EXPECT_EQ(error_of([] { decode_shard_bytes(std::string()); }).code(), Code::kData);
}

}  // namespace
}  // namespace ps::checkpoint_shard_service_test
