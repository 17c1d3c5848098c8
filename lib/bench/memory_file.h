// A file in memory that a reader reads like a pipe whose next bytes are always there.  Used by benchmarks of
// readers.
#ifndef PS_BENCH_MEMORY_FILE_H_
#define PS_BENCH_MEMORY_FILE_H_

#include <string_view>

namespace ps {

// A file with the bytes that it was made with.  One owner thread.
class MemoryFile {
 public:
  // Copies `bytes` into the file.  Throws kExhausted when the system refuses the memory.
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Returns the descriptor of the file, set to the beginning of the bytes: for
  // ReaderSettings::stdin_descriptor, with the path "-".
  int rewound() const;

 private:
  const int file_;
};

}  // namespace ps

#endif  // PS_BENCH_MEMORY_FILE_H_
