#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/temporary_folder.h"

namespace ps::file_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Limits the size of the files of this process during its lifetime.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit before_;
};

class FileTest : public testing::Test {
 protected:
  FileTest() : folder_(testing::TempDir() + "/pskit-file-XXXXXX") {
    PS_CHECK(mkdtemp(folder_.data()) != nullptr);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }

  static std::string pattern(size_t size) {
    std::string bytes(size, 0);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2'654'435'761u >> 13);
    return bytes;
  }

  // The code of the Error that `action` throws.
  template <class Action>
  static Code refusal(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code();
    }
    ADD_FAILURE() << "nothing was refused";
    return Code::kInternal;
  }

  std::string folder_;
};

TEST_F(FileTest, ALinkInPlaceOfATemporaryFileIsNotFollowed) {
  write_file(path("precious"), "mine");
  std::filesystem::create_symlink(path("precious"), path(cat("a.tmp", getpid())));
  write_file(path("a"), "new");
  EXPECT_EQ(read_file(path("precious")), "mine");
  EXPECT_EQ(read_file(path("a")), "new");
}

TEST_F(FileTest, ANewFileLeavesOtherNamesOfTheOldOneAlone) {
  write_file(path("old"), "kept");
  link_or_copy(path("old"), path("other"));
  system_files().create(path("old"))->write("changed");
  EXPECT_EQ(read_file(path("other")), "kept");
}

TEST_F(FileTest, BytesInTheMidstOfAFileAreOverwritten) {
  for (size_t size : {size_t{100}, size_t{3} << 20}) {
    std::string bytes = pattern(size);
    AtomicFile file(path("a"));
    file.write(bytes);
    file.overwrite(10, "head");
    file.write("tail");
    file.commit();
    bytes.replace(10, 4, "head");
    EXPECT_TRUE(read_file(path("a")) == bytes + "tail") << size;
  }
}

TEST_F(FileTest, WhatWasWrittenIsRead) {
  std::string bytes(3 << 20, 'x');
  bytes[12345] = '\0';
  write_file(path("a"), bytes);
  EXPECT_EQ(read_file(path("a")), bytes);
  write_file(path("a"), "");
  EXPECT_EQ(read_file(path("a")), "");
}

// Pieces that fill a buffer go past it, and must not overtake what is in it.
TEST_F(FileTest, PiecesOfAllSizesKeepTheirOrder) {
  std::string expected;
  AtomicFile file(path("a"));
  for (size_t size : {1, 5 << 20, 3, (1 << 20) - 3, 1, 1 << 20, (1 << 20) - 1, 2, 700 << 10, 700 << 10}) {
    std::string piece(size, static_cast<char>('a' + expected.size() % 23));
    file.write(piece);
    expected += piece;
    EXPECT_EQ(file.size(), expected.size());
  }
  file.commit();
  EXPECT_TRUE(read_file(path("a")) == expected);
}

TEST_F(FileTest, WithoutCommitTheOldFileStaysAndNothingElseIsLeft) {
  write_file(path("a"), "old");
  { AtomicFile(path("a")).write("new"); }
  EXPECT_EQ(read_file(path("a")), "old");
  EXPECT_THAT(list_directory(folder_), ElementsAre("a"));
}

TEST_F(FileTest, CommitReplacesTheWholeFile) {
  write_file(path("a"), "a long old text");
  AtomicFile file(path("a"));
  file.write("ne");
  file.write("w");
  EXPECT_EQ(file.size(), 3u);
  EXPECT_EQ(read_file(path("a")), "a long old text");
  file.commit();
  EXPECT_EQ(read_file(path("a")), "new");
  EXPECT_THAT(list_directory(folder_), ElementsAre("a"));
}

TEST_F(FileTest, APipeThatAUserNamesGetsTheBytesAndStaysAPipe) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_named_file(path("pipe"), "7164");
  char text[8] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "7164");
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

TEST_F(FileTest, WhatAUserNamesIsWrittenBehindALink) {
  write_file(path("file"), "old");
  std::filesystem::create_symlink("file", path("link"));
  write_named_file(path("link"), "new");
  EXPECT_EQ(read_file(path("file")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(refusal([&] { write_named_file(folder_, "new"); }), Code::kUsage);
}

TEST_F(FileTest, LimitOfSizeIsHeld) {
  write_file(path("a"), "12345");
  EXPECT_EQ(read_file(path("a"), 5), "12345");
  EXPECT_EQ(refusal([&] { read_file(path("a"), 4); }), Code::kCorrupt);
  EXPECT_EQ(refusal([&] { read_file("/dev/zero", 1 << 20); }), Code::kCorrupt);
}

TEST_F(FileTest, FaultsNameTheirSubject) {
  EXPECT_EQ(refusal([&] { read_file(path("none")); }), Code::kUsage);
  EXPECT_EQ(refusal([&] { read_file(folder_); }), Code::kUsage);
  EXPECT_EQ(refusal([&] { write_file(path("none/a"), "x"); }), Code::kUsage);
  EXPECT_EQ(refusal([&] { list_directory(path("none")); }), Code::kUsage);
  write_file(path("a"), "x");
  EXPECT_EQ(refusal([&] { make_directories(path("a/b")); }), Code::kUsage);
  try {
    read_file(path("none"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), cat("cannot open ", quote(path("none")), ": no such file or directory"));
  }
}

// Large files go past the system's cache where they can: on a disk, and not on all file systems in memory.
TEST_F(FileTest, FilesOfAnySizeAreWrittenWhole) {
  constexpr size_t kMiB = size_t{1} << 20;
  const std::string in_memory = "/dev/shm";
  std::vector<std::string> names = {path("file")};
  const TemporaryFolder other(is_directory(in_memory) ? in_memory : folder_);
  names.push_back(other.path("file"));
  for (const std::string& name : names) {
    for (size_t size : {size_t{0}, size_t{1}, kMiB - 1, kMiB, 3 * kMiB + 5, 40 * kMiB}) {
      const std::string bytes = pattern(size), more = pattern(2 * kMiB + 7);
      auto file = system_files().create(name);
      for (size_t at = 0, some = 1; at < size; at += some, some = some * 3 % 700'001) {
        file->write(std::string_view(bytes).substr(at, some));
      }
      file->sync();
      EXPECT_TRUE(read_file(name) == bytes) << name << ", " << size << " bytes";
      file->write(more);
      file->sync();
      EXPECT_TRUE(read_file(name) == bytes + more) << name << ", more than " << size << " bytes";
    }
  }
}

// A process that was fenced leaves no trace of its unfinished file.
TEST_F(FileTest, AFileThatIsGivenUpIsNotWritten) {
  {
    const auto file = system_files().create(path("file"));
    file->write("bytes");
  }
  EXPECT_EQ(read_file(path("file")), "");
}

// A sync that followed would be a success, of a file with a hole.
TEST_F(FileTest, AfterAnErrorAFileStaysOneThatFailed) {
  auto full = system_files().create("/dev/full");
  full->write("bytes");
  EXPECT_EQ(refusal([&] { full->sync(); }), Code::kExhausted);
  EXPECT_EQ(refusal([&] { full->sync(); }), Code::kExhausted);

  const SizeLimit limit(size_t{5} << 19);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  auto file = system_files().create(path("file"));
  const std::string piece = pattern(size_t{1} << 20);
  const Code code = refusal([&] {
    for (int i = 0; i < 8; ++i) file->write(piece);
  });
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(code, Code::kUnavailable);
  EXPECT_EQ(refusal([&] { file->sync(); }), Code::kUnavailable);
}

// The system ends a process that asks for more.
TEST_F(FileTest, AFileMayBeAsLargeAsTheLimit) {
  const std::string bytes = pattern(size_t{10} << 20);
  const SizeLimit limit(bytes.size());
  write_file(path("file"), bytes);
  EXPECT_TRUE(read_file(path("file")) == bytes);
}

TEST_F(FileTest, AFileHasAnotherNameOrACopy) {
  write_file(path("one"), "bytes");
  write_file(path("two"), "what was there");
  link_or_copy(path("one"), path("two"));
  system_files().remove(path("one"));
  EXPECT_EQ(read_file(path("two")), "bytes");
  EXPECT_EQ(refusal([&] { link_or_copy(path("none"), path("two")); }), Code::kUnavailable);
}

TEST_F(FileTest, TemporaryFoldersOfProcessesThatWereKilledAreRemoved) {
  const TemporaryFolder alive(folder_);
  const std::string left = path("pskit-killed");
  make_directories(join_path(left, "rows"));
  // One that ends leaves its file, and not the lock on it.
  LockFile::create(join_path(left, "owner.lock"), "process 1\n");
  make_directories(path("pskit-strange"));
  make_directories(path("other"));
  remove_left_folders(folder_);
  EXPECT_FALSE(exists(left));
  EXPECT_TRUE(exists(alive.path()));
  EXPECT_TRUE(exists(path("pskit-strange")));
  EXPECT_TRUE(exists(path("other")));
}

TEST_F(FileTest, OneAtATimeHasAClaim) {
  const std::string name = path("LOCK");
  auto first = LockFile::claim(name, 0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(LockFile::claim(name, 0.01), nullptr);
  first.reset();
  EXPECT_NE(LockFile::claim(name, 0), nullptr);
  EXPECT_TRUE(exists(name));
}

TEST_F(FileTest, OneAtATimeHasAFolder) {
  auto first = LockFile::claim_folder(folder_, 0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(LockFile::claim_folder(folder_, 0.01), nullptr);
  first.reset();
  EXPECT_NE(LockFile::claim_folder(folder_, 0), nullptr);
  EXPECT_THAT(list_directory(folder_), IsEmpty());
  EXPECT_EQ(refusal([&] { LockFile::claim_folder(path("none"), 0); }), Code::kUnavailable);
}

TEST_F(FileTest, ATemporaryFolderGoesWithWhatIsInIt) {
  std::string left;
  {
    const TemporaryFolder folder(folder_);
    left = folder.path();
    write_file(folder.path("file"), "bytes", unsynced_files());
    EXPECT_EQ(read_file(join_path(left, "file")), "bytes");
  }
  EXPECT_FALSE(exists(left));
  EXPECT_EQ(refusal([&] { TemporaryFolder(path("none")); }), Code::kUnavailable);
}

TEST_F(FileTest, FoldersAreMadeAndListedInOrder) {
  make_directories(path("x/y"));
  make_directories(path("x/y"));
  for (const char* name : {"x/b", "x/B", "x/a", "x/.hidden"}) write_file(path(name), "");
  EXPECT_THAT(list_directory(path("x")), ElementsAre("B", "a", "b", "y"));
  EXPECT_THAT(list_directory(path("x/y")), IsEmpty());
  EXPECT_TRUE(is_directory(path("x")));
  EXPECT_FALSE(is_directory(path("x/a")));
  EXPECT_TRUE(exists(path("x/a")));
  EXPECT_FALSE(exists(path("x/c")));
}

TEST(Path, JoinKeepsAbsoluteNames) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
}

TEST(ErrorCodes, SystemErrorsMapToExitStatuses) {
  auto code_of = [](int number) {
    try {
      fail_errno(Code::kUsage, "cannot open", "x", number);
    } catch (const Error& error) {
      return error.code();
    }
  };
  EXPECT_EQ(code_of(ENOSPC), Code::kExhausted);
  EXPECT_EQ(code_of(EMFILE), Code::kExhausted);
  EXPECT_EQ(code_of(EACCES), Code::kAuthentication);
  EXPECT_EQ(code_of(ENOENT), Code::kUsage);
}

TEST(ErrorCodes, ContextComesFirst) {
  Error error = Error(Code::kCorrupt, "partition 17: torn").within("load checkpoint 'c'");
  EXPECT_STREQ(error.what(), "load checkpoint 'c': partition 17: torn");
  EXPECT_EQ(error.code(), Code::kCorrupt);
}

}  // namespace
}  // namespace ps::file_test
