// MemoryPath: bytes of a harness as a file that can be opened by its path, without a disk.
#ifndef PS_TESTS_FUZZ_MEMORY_PATH_H_
#define PS_TESTS_FUZZ_MEMORY_PATH_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace ps {

class MemoryPath {
 public:
  MemoryPath() : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) { PS_CHECK(descriptor_ >= 0); }
  ~MemoryPath() { close(descriptor_); }
  MemoryPath(const MemoryPath&) = delete;
  MemoryPath& operator=(const MemoryPath&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  void fill(const uint8_t* data, size_t size) {
    PS_CHECK(ftruncate(descriptor_, 0) == 0);
    PS_CHECK(pwrite(descriptor_, data, size, 0) == static_cast<ssize_t>(size));
  }

 private:
  const int descriptor_;
};

}  // namespace ps

#endif  // PS_TESTS_FUZZ_MEMORY_PATH_H_
