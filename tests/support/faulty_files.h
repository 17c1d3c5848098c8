// FaultyFiles: the disk, with faults that a test chooses.  Any call can fail, the disk can be full, and after
// a crash only what was synced is there.
#ifndef PS_TESTS_SUPPORT_FAULTY_FILES_H_
#define PS_TESTS_SUPPORT_FAULTY_FILES_H_

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/file_system.h"

namespace ps {

// Any thread.  Files are written for real, so that ordinary code reads them; beside them stands what a disk
// would have after a loss of power.
class FaultyFiles final : public FileSystem {
 public:
  // The losses of a crash: names and bytes that were not synced, or the bytes alone, since a system may write
  // folders earlier than the files in them.
  enum class Loss { kNamesAndBytes, kBytes };

  // Everything happens in `root`, a folder that is there.
  explicit FaultyFiles(std::string root) : root_(std::move(root)) {}

  // Call number `call` from now on, counted from 0, fails; so do those after it when `lasting`.  ENOMEM stands for an
  // allocation that fails on the way: std::bad_alloc.
  void fail_at(int64_t call, int error, bool lasting = false) {
    calls_ = 0;
    failing_ = call;
    error_ = error;
    lasting_ = lasting;
  }
  void heal() { fail_at(INT64_MAX, 0); }
  int64_t calls() const { return calls_; }    // since fail_at or heal
  int64_t failed() const { return failed_; }  // in all

  // Leaves in the root only what would be there after a loss of power.
  void crash(Loss loss) {
    std::lock_guard lock(mutex_);
    system_files().remove(root_);
    system_files().make_directories(root_);
    if (loss == Loss::kNamesAndBytes) names_ = synced_names_;
    for (const auto& [path, node] : names_) {
      if (!has_parents(path)) continue;
      if (!node) {
        system_files().make_directories(path);
      } else {
        unsynced_files().create(path)->write(node->synced);
        node->written = node->synced;
      }
    }
    synced_names_ = names_;
  }

  std::unique_ptr<OutputFile> create(const std::string& path) override {
    std::lock_guard lock(mutex_);
    check("cannot create", path);
    auto file = unsynced_files().create(path);
    auto node = std::make_shared<Node>();
    names_[path] = node;
    return std::make_unique<File>(*this, path, std::move(file), node);
  }

  void rename(const std::string& from, const std::string& to) override {
    std::lock_guard lock(mutex_);
    check("cannot rename to", to);
    system_files().rename(from, to);
    names_[to] = names_.at(from);
    names_.erase(from);
  }

  void sync_directory(const std::string& path) override {
    std::lock_guard lock(mutex_);
    check("cannot sync folder", path);
    std::erase_if(synced_names_, [&](const auto& name) { return parent_directory(name.first) == path; });
    for (const auto& name : names_) {
      if (parent_directory(name.first) == path) synced_names_.insert(name);
    }
  }

  void make_directories(const std::string& path) override {
    std::lock_guard lock(mutex_);
    check("cannot make folder", path);
    system_files().make_directories(path);
    for (std::string folder = path; folder.size() > root_.size(); folder = parent_directory(folder)) {
      names_.emplace(folder, nullptr);
    }
  }

  void remove(const std::string& path) override {
    std::lock_guard lock(mutex_);
    check("cannot remove", path);
    system_files().remove(path);
    std::erase_if(names_,
                  [&](const auto& name) { return name.first == path || name.first.starts_with(path + "/"); });
  }

 private:
  struct Node {  // a file; folders have none
    std::string written, synced;
  };

  class File final : public OutputFile {
   public:
    File(FaultyFiles& files, std::string path, std::unique_ptr<OutputFile> file, std::shared_ptr<Node> node)
        : files_(files), path_(std::move(path)), file_(std::move(file)), node_(std::move(node)) {}
    void write(std::string_view bytes) override {
      std::lock_guard lock(files_.mutex_);
      PS_CHECK(!given_up_);
      given_up_ = true;
      files_.check("cannot write", path_);
      given_up_ = false;
      file_->write(bytes);
      node_->written += bytes;
    }
    void overwrite(uint64_t offset, std::string_view bytes) override {
      std::lock_guard lock(files_.mutex_);
      PS_CHECK(!given_up_);
      given_up_ = true;
      files_.check("cannot write", path_);
      given_up_ = false;
      file_->overwrite(offset, bytes);
      node_->written.replace(offset, bytes.size(), bytes);
    }
    void sync() override {
      std::lock_guard lock(files_.mutex_);
      PS_CHECK(!given_up_);
      given_up_ = true;  // an error of fsync is never retried on the same file
      files_.check("cannot sync", path_);
      given_up_ = false;
      node_->synced = node_->written;
    }

   private:
    FaultyFiles& files_;
    const std::string path_;
    const std::unique_ptr<OutputFile> file_;
    const std::shared_ptr<Node> node_;
    bool given_up_ = false;
  };

  void check(std::string_view what, const std::string& path) {
    const int64_t call = calls_++;
    if (call != failing_ && !(lasting_ && call > failing_)) return;
    ++failed_;
    if (error_ == ENOMEM) throw std::bad_alloc();
    fail_errno(Code::kUnavailable, what, path, error_);
  }

  bool has_parents(const std::string& path) const {
    const std::string parent = parent_directory(path);
    return parent.size() <= root_.size() || (names_.contains(parent) && has_parents(parent));
  }

  const std::string root_;
  std::mutex mutex_;
  int64_t calls_ = 0, failing_ = INT64_MAX, failed_ = 0;
  int error_ = 0;
  bool lasting_ = false;
  std::map<std::string, std::shared_ptr<Node>> names_, synced_names_;
};

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_FAULTY_FILES_H_
