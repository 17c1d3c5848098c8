#include "membership/fenced_files.h"

#include <filesystem>
#include <utility>

#include "base/file.h"

namespace ps {

namespace {

// Every write asks the fence, which in most calls only compares two times.  A sync looks at the folder
// itself, as changes of names do: they make bytes last, or known to others, and a server that was replaced
// must not do so.
class FencedFile final : public OutputFile {
 public:
  FencedFile(std::unique_ptr<OutputFile> file, FileFence& fence) : file_(std::move(file)), fence_(fence) {}

  void write(std::string_view bytes) override {
    fence_.check();
    file_->write(bytes);
  }

  void overwrite(uint64_t offset, std::string_view bytes) override {
    fence_.check();
    file_->overwrite(offset, bytes);
  }

  void sync() override {
    fence_.check_now();
    file_->sync();
  }

 private:
  const std::unique_ptr<OutputFile> file_;
  FileFence& fence_;
};

}  // namespace

std::unique_ptr<OutputFile> FencedFiles::create(const std::string& path) {
  fence_.check_now();
  return std::make_unique<FencedFile>(files_.create(path), fence_);
}

void FencedFiles::rename(const std::string& from, const std::string& to) {
  fence_.check_now();
  files_.rename(from, to);
}

void FencedFiles::sync_directory(const std::string& path) {
  fence_.check_now();
  files_.sync_directory(path);
}

void FencedFiles::make_directories(const std::string& path) {
  fence_.check_now();
  files_.make_directories(path);
}

// Asks the fence for every file, since there may be many: this server may be stopped and replaced meanwhile.
void FencedFiles::remove(const std::string& path) {
  if (is_directory(path) && !std::filesystem::is_symlink(path)) {
    for (const std::string& name : list_directory(path)) remove(join_path(path, name));
  }
  fence_.check_now();
  files_.remove(path);
}

}  // namespace ps
