#include "bench/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace ps {

MemoryFile::MemoryFile(std::string_view bytes) : file_(memfd_create("ps-bench", MFD_CLOEXEC)) {
  if (file_ < 0) fail_errno(Code::kExhausted, "cannot make", "a file in memory", errno);
  while (!bytes.empty()) {
    ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0) fail_errno(Code::kExhausted, "cannot write", "a file in memory", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

MemoryFile::~MemoryFile() {
  close(file_);
}

int MemoryFile::rewound() const {
  lseek(file_, 0, SEEK_SET);
  return file_;
}

}  // namespace ps
