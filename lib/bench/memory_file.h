// A file that lies in memory and reads like a pipe which is always full.  Used by benchmarks of readers.
#ifndef PS_BENCH_MEMORY_FILE_H_
#define PS_BENCH_MEMORY_FILE_H_

#include <string_view>

namespace ps {

class MemoryFile {
 public:
  // Throws kExhausted.
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Its descriptor, at the beginning of the bytes: for ReaderSettings::stdin_descriptor, with the path "-".
  int rewound() const;

 private:
  const int file_;
};

}  // namespace ps

#endif  // PS_BENCH_MEMORY_FILE_H_
