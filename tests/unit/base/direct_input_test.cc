#include "base/direct_input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "support/scratch_folder.h"

namespace ps::direct_input_test {
namespace {

// A file of some pieces and a rest, on the disk and not in the cache.
class DirectInputTest : public testing::Test {
 protected:
  DirectInputTest() {
    for (uint64_t i = 0; bytes_.size() < kBytes; ++i) bytes_ += std::to_string(hash_key(i));
    bytes_.resize(kBytes);
    auto written = system_files().create(folder_.path("file"));
    written->write(bytes_);
    written->sync();
    file_ = open(folder_.path("file").c_str(), O_RDONLY | O_CLOEXEC);
    PS_CHECK(file_ >= 0);
    posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
  }
  ~DirectInputTest() override { close(file_); }

  // Returns false on a file system in memory, whose files are always in the cache.
  bool is_on_disk() const {
    struct statfs status;
    PS_CHECK(fstatfs(file_, &status) == 0);
    return status.f_type != TMPFS_MAGIC;
  }

  // Returns true if reads of several sizes give the file's bytes from `begin` to `end`.
  bool reads(DirectInput& input, uint64_t begin, uint64_t end) {
    std::string out;
    for (uint64_t some = 1; begin < end; begin += out.size(), some = some * 5 % 900'001) {
      out.resize(std::min(some, end - begin));
      if (!input.read(begin, out) || out != bytes_.substr(begin, out.size())) return false;
    }
    return true;
  }

  static constexpr uint64_t kBytes = (uint64_t{5} << 20) + 1234;
  ScratchFolder folder_;
  std::string bytes_;
  int file_;
};

TEST_F(DirectInputTest, ReadsAnyRangeInItsOrder) {
  for (uint64_t begin : {uint64_t{0}, uint64_t{1}, uint64_t{4096}, uint64_t{1'500'000}}) {
    for (uint64_t end : {begin + (uint64_t{2} << 20), uint64_t{5} << 20, kBytes}) {
      const auto input = DirectInput::open(file_, begin, end);
      EXPECT_EQ(input != nullptr, is_on_disk()) << begin << " to " << end;
      EXPECT_TRUE(!input || reads(*input, begin, end)) << begin << " to " << end;
    }
  }
}

TEST_F(DirectInputTest, WhatItDoesNotHaveIsReadOtherwise) {
  const auto input = DirectInput::open(file_, 0, kBytes);
  ASSERT_EQ(input != nullptr, is_on_disk());
  if (!input) return;
  std::string out(100, ' ');
  EXPECT_FALSE(input->read(1, out)) << "not where the last ones ended";
  ASSERT_TRUE(reads(*input, 0, kBytes - 50));
  EXPECT_FALSE(input->read(kBytes - 50, out)) << "the file ends";
  EXPECT_FALSE(input->read(kBytes - 50, std::span(out).first(50))) << "and will not be read any more";
}

TEST_F(DirectInputTest, WhatIsInTheCacheOrLittleIsNotReadFromTheDisk) {
  EXPECT_FALSE(DirectInput::open(file_, 0, 1000));
  EXPECT_TRUE(read_file(folder_.path("file")) == bytes_);
  EXPECT_FALSE(DirectInput::open(file_, 0, kBytes));
}

}  // namespace
}  // namespace ps::direct_input_test
