// CrashingFiles: what one server writes to the folder of all; its crash takes what it has not synced.
#ifndef PS_TESTS_SUPPORT_CRASHING_FILES_H_
#define PS_TESTS_SUPPORT_CRASHING_FILES_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file_system.h"

namespace ps {

// One owner thread.  Files are written for real, so that ordinary code reads them.  Names are on the disk at
// once, also those of files that are not: a system may write its folders earlier than the files in them.
class CrashingFiles final : public FileSystem {
 public:
  // The machine ends at call number `call` from now on, counted from 0: `ends` is called, and this and all
  // calls that follow fail and do nothing, until crash().
  void end_at(uint64_t call, std::function<void()> ends) {
    calls_left_ = call;
    ends_ = std::move(ends);
  }

  // Cuts each file to what was synced of it.  Returns the bytes that are lost.
  uint64_t crash() {
    calls_left_ = UINT64_MAX;
    uint64_t lost = 0;
    for (const auto& [path, size] : unsynced_) {
      lost += size.written - size.synced;
      if (std::filesystem::exists(path)) std::filesystem::resize_file(path, size.synced);
    }
    unsynced_.clear();
    return lost;
  }

  std::unique_ptr<OutputFile> create(const std::string& path) override {
    call();
    auto file = std::make_unique<File>(*this, path, unsynced_files().create(path));
    unsynced_[path] = {};
    return file;
  }

  void rename(const std::string& from, const std::string& to) override {
    call();
    system_files().rename(from, to);
    std::map<std::string, Size> moved;
    std::erase_if(unsynced_, [&](const auto& entry) {
      if (!is_in(entry.first, from)) return false;
      moved[to + entry.first.substr(from.size())] = entry.second;
      return true;
    });
    unsynced_.merge(moved);
  }

  void sync_directory(const std::string&) override { call(); }

  void make_directories(const std::string& path) override {
    call();
    system_files().make_directories(path);
  }

  void remove(const std::string& path) override {
    call();
    system_files().remove(path);
    std::erase_if(unsynced_, [&](const auto& entry) { return is_in(entry.first, path); });
  }

 private:
  struct Size {
    uint64_t written = 0, synced = 0;
  };

  class File final : public OutputFile {
   public:
    File(CrashingFiles& files, std::string path, std::unique_ptr<OutputFile> file)
        : files_(files), path_(std::move(path)), file_(std::move(file)) {}
    void write(std::string_view bytes) override {
      files_.call();
      file_->write(bytes);
      written_ += bytes.size();
      files_.unsynced_[path_] = {written_, synced_};
    }
    void overwrite(uint64_t offset, std::string_view bytes) override {
      files_.call();
      file_->overwrite(offset, bytes);
      files_.unsynced_[path_] = {written_, synced_};
    }
    void sync() override {
      files_.call();
      synced_ = written_;
      files_.unsynced_.erase(path_);
    }

   private:
    CrashingFiles& files_;
    const std::string path_;
    const std::unique_ptr<OutputFile> file_;
    uint64_t written_ = 0, synced_ = 0;
  };

  // Returns true if `path` is `folder` itself, or lies in it.
  static bool is_in(const std::string& path, const std::string& folder) {
    return path == folder || path.starts_with(folder + "/");
  }

  void call() {
    if (calls_left_ == UINT64_MAX) return;
    if (calls_left_ > 0) return void(--calls_left_);
    if (ends_) std::exchange(ends_, nullptr)();
    fail(Code::kUnavailable, "the machine has ended");
  }

  std::map<std::string, Size> unsynced_;
  uint64_t calls_left_ = UINT64_MAX;
  std::function<void()> ends_;
};

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_CRASHING_FILES_H_
