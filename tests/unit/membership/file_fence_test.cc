#include "membership/file_fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "membership/fenced_files.h"
#include "support/scratch_folder.h"

namespace ps::file_fence_test {
namespace {

using namespace std::chrono_literals;

// Servers that share a folder, and a clock that the test moves.
class FileFenceTest : public testing::Test {
 protected:
  std::unique_ptr<FileFence> make(const std::string& name) {
    return std::make_unique<FileFence>(FileFenceOptions{
        .directory = folder_.path(), .name = name, .lease = kLease, .now = [this] { return now_; }});
  }
  Code claim(FileFence& fence, int server = 0) {
    return error_of([&] { fence.claim(server); }).code();
  }
  std::string files() const {
    std::string all;
    for (const std::string& name : list_directory(folder_.path("servers"))) all += name + " ";
    return all;
  }

  // Passes time in which nobody but `alive` does anything.
  void pass(Duration time, FileFence* alive = nullptr) {
    for (Duration done{}; done < time; done += kLease / 5) {
      now_ = add_time(now_, kLease / 5);
      if (alive != nullptr) alive->beat();
    }
  }

  static constexpr Duration kLease = 10s;
  static constexpr Code kNone = Code::kInternal;  // what error_of says of no error

  ScratchFolder folder_;
  Time now_ = 100s;
};

// The system's files; after each that is removed something else happens.
class HauntedFiles final : public FileSystem {
 public:
  explicit HauntedFiles(std::function<void()> happens) : happens_(std::move(happens)) {}
  std::unique_ptr<OutputFile> create(const std::string& path) override { return system_files().create(path); }
  void rename(const std::string& from, const std::string& to) override { system_files().rename(from, to); }
  void sync_directory(const std::string& path) override { system_files().sync_directory(path); }
  void make_directories(const std::string& path) override { system_files().make_directories(path); }
  void remove(const std::string& path) override {
    system_files().remove(path);
    happens_();
  }

 private:
  const std::function<void()> happens_;
};

TEST_F(FileFenceTest, ServersOfOneJobShareAFolder) {
  auto first = make("a"), second = make("b");
  EXPECT_EQ(claim(*first, 0), kNone);
  EXPECT_EQ(claim(*second, 1), kNone);
  pass(10 * kLease, first.get());
  EXPECT_NO_THROW(first->check());
  EXPECT_NO_THROW(second->check());
  EXPECT_EQ(claim(*first, 1), Code::kUsage) << "its number stays";
}

TEST_F(FileFenceTest, OneThatLivesKeepsItsPlace) {
  auto first = make("a:7164, process 12"), second = make("b");
  ASSERT_EQ(claim(*first), kNone);
  EXPECT_EQ(claim(*second), Code::kUnavailable) << "it may have been stopped";
  pass(kLease / 2, first.get());
  const Error refused = error_of([&] { second->claim(0); });
  EXPECT_EQ(refused.code(), Code::kFenced);
  EXPECT_THAT(refused.message(), testing::HasSubstr("a:7164, process 12, and lives"));
  ASSERT_TRUE(second->fenced());
  EXPECT_EQ(error_of([&] { second->check(); }).code(), Code::kFenced) << "for good";
  EXPECT_NO_THROW(first->check_now());
  EXPECT_FALSE(first->fenced());
}

TEST_F(FileFenceTest, ASecondOneFindsOutWithoutBeingAskedAgain) {
  auto first = make("a"), second = make("b");
  ASSERT_EQ(claim(*first), kNone);
  ASSERT_EQ(claim(*second), Code::kUnavailable);
  pass(kLease / 2, first.get());
  second->beat();
  EXPECT_FALSE(second->fenced()) << "whoever waits for it is to hear of it first";
  pass(kLease / 2, first.get());
  second->beat();
  EXPECT_TRUE(second->fenced());
}

TEST_F(FileFenceTest, OneThatHasEndedIsReplacedAtOnce) {
  auto first = make("a");
  ASSERT_EQ(claim(*first), kNone);
  first.reset();
  auto second = make("b");
  EXPECT_EQ(claim(*second), kNone);
  EXPECT_EQ(files(), "server-0.generation-2 ");
}

TEST_F(FileFenceTest, OneThatWasStoppedIsReplacedAfterALeaseAndEndsWhenItWakes) {
  auto stopped = make("a"), successor = make("b");
  ASSERT_EQ(claim(*stopped), kNone);
  ASSERT_EQ(claim(*successor), Code::kUnavailable);
  pass(kLease * 4 / 5);
  EXPECT_EQ(claim(*successor), Code::kUnavailable);
  pass(kLease / 5);
  EXPECT_EQ(claim(*successor), kNone);
  EXPECT_EQ(files(), "server-0.generation-2 ");
  const Error fenced = error_of([&] { stopped->check(); });
  EXPECT_EQ(fenced.code(), Code::kFenced);
  EXPECT_THAT(fenced.message(), testing::HasSubstr("server 0 of the job is b, of generation 2 after 1"));
  EXPECT_NO_THROW(successor->check_now());
}

TEST_F(FileFenceTest, WhoKnowsThatNobodyLivesDoesNotWait) {
  auto stopped = make("a"), successor = make("b");
  ASSERT_EQ(claim(*stopped), kNone);
  successor->seize(0);
  EXPECT_EQ(claim(*successor), kNone);
  EXPECT_EQ(error_of([&] { stopped->check_now(); }).code(), Code::kFenced);
}

TEST_F(FileFenceTest, WhatIsWrittenIsLookedAtWheneverTheLastLookWas) {
  auto stopped = make("a"), successor = make("b");
  ASSERT_EQ(claim(*stopped), kNone);
  FencedFiles files(system_files(), *stopped);
  files.make_directories(folder_.path("step-1"));
  auto file = files.create(folder_.path("step-1/part"));
  // As if its clock had stood still, as that of a virtual machine may.
  const Time asleep = now_;
  ASSERT_EQ(claim(*successor), Code::kUnavailable);
  pass(kLease);
  ASSERT_EQ(claim(*successor), kNone);
  now_ = asleep;
  EXPECT_NO_THROW(stopped->check());
  EXPECT_NO_THROW(file->write("nobody reads this"));
  EXPECT_EQ(error_of([&] { file->sync(); }).code(), Code::kFenced);
  EXPECT_EQ(error_of([&] { file->write("more"); }).code(), Code::kFenced);
  EXPECT_EQ(error_of([&] { files.rename(folder_.path("step-1/part"), folder_.path("part")); }).code(),
            Code::kFenced);
  EXPECT_FALSE(exists(folder_.path("part")));
  EXPECT_EQ(error_of([&] { files.remove(folder_.path("step-1")); }).code(), Code::kFenced);
  EXPECT_TRUE(exists(folder_.path("step-1/part")));
  EXPECT_EQ(error_of([&] { files.create(folder_.path("more")); }).code(), Code::kFenced);
  EXPECT_EQ(error_of([&] { files.make_directories(folder_.path("more")); }).code(), Code::kFenced);
  EXPECT_EQ(error_of([&] { files.sync_directory(folder_.path()); }).code(), Code::kFenced);
}

TEST_F(FileFenceTest, WhoIsReplacedWhileItRemovesAFolderLeavesTheRest) {
  auto stopped = make("a"), successor = make("b");
  ASSERT_EQ(claim(*stopped), kNone);
  HauntedFiles haunted([&] { successor->seize(0); });
  FencedFiles files(haunted, *stopped);
  files.make_directories(folder_.path("step-1"));
  for (const char* name : {"step-1/a", "step-1/b"}) files.create(folder_.path(name));
  EXPECT_EQ(error_of([&] { files.remove(folder_.path("step-1")); }).code(), Code::kFenced);
  EXPECT_FALSE(exists(folder_.path("step-1/a")));
  EXPECT_TRUE(exists(folder_.path("step-1/b")));
}

TEST_F(FileFenceTest, OfTwoNewcomersOneTakesThePlace) {
  auto stopped = make("a"), one = make("b"), other = make("c");
  ASSERT_EQ(claim(*stopped), kNone);
  ASSERT_EQ(claim(*one), Code::kUnavailable);
  ASSERT_EQ(claim(*other), Code::kUnavailable);
  pass(kLease);
  EXPECT_EQ(claim(*one), kNone);
  EXPECT_EQ(claim(*other), Code::kUnavailable) << "a new holder is watched anew";
  pass(kLease / 2, one.get());
  EXPECT_EQ(claim(*other), Code::kFenced);
}

TEST_F(FileFenceTest, AFolderThatIsTakenAwayFencesNobody) {
  auto fence = make("a");
  ASSERT_EQ(claim(*fence), kNone);
  system_files().remove(folder_.path("servers"));
  EXPECT_NO_THROW(fence->check_now());
  EXPECT_EQ(files(), "server-0.generation-1 ");
  EXPECT_EQ(claim(*make("b")), Code::kUnavailable) << "it is locked again";
}

TEST_F(FileFenceTest, WhatTheDiskCannotDoIsTriedAgain) {
  auto fence = make("a"), newcomer = make("b");
  ASSERT_EQ(claim(*fence), kNone);
  system_files().remove(folder_.path("servers"));
  write_file(folder_.path("servers"), "in the way");
  EXPECT_EQ(error_of([&] { fence->check_now(); }).code(), Code::kUnavailable);
  EXPECT_EQ(claim(*newcomer), Code::kUnavailable);
  EXPECT_NO_THROW(fence->beat());
  system_files().remove(folder_.path("servers"));
  EXPECT_NO_THROW(fence->check_now());
  EXPECT_FALSE(fence->fenced());
}

TEST_F(FileFenceTest, GenerationsGoOnRisingAndStrangersDoNotCount) {
  make("a");
  write_file(folder_.path("servers/server-0.generation-41"), "of an earlier process\n");
  write_file(folder_.path("servers/server-0.generation-042"), "no name of ours\n");
  write_file(folder_.path("servers/server-1.generation-99"), "another number\n");
  write_file(folder_.path("servers/server-0.generation-43.k3Jd02"), "never finished\n");
  auto fence = make("b");
  ASSERT_EQ(claim(*fence), kNone);
  EXPECT_EQ(files(), "server-0.generation-42 server-1.generation-99 ");
}

}  // namespace
}  // namespace ps::file_fence_test
