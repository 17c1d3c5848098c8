// Inputs: files, lists, folders and standard input.  Used by all that read data.
#ifndef PS_DATA_INPUT_H_
#define PS_DATA_INPUT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ps {

// Ends reads that block.  Any thread or signal handler may set it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void set();
  bool is_set() const { return set_.load(); }
  int descriptor() const { return descriptor_; }  // readable once set

 private:
  const int descriptor_;
  std::atomic<bool> set_{false};
};

// One input.  A stream (standard input, a pipe) can be read once and may be endless.
struct InputFile {
  std::string path;  // "-": standard input
  bool stream = false;
  uint64_t bytes = 0;  // stored size of a file

  std::string name() const { return path == "-" ? "standard input" : path; }
};

// Returns the inputs that `paths` name, in order: files; lists (*.list) of paths, one a line, relative to the
// list's folder, with blank lines and # comments; folders, whose files are taken in the order of their names,
// as are inner folders, without hidden files and lists; "-".  Throws kUsage for a path that does not exist.
std::vector<InputFile> expand_inputs(const std::vector<std::string>& paths);

// State that all sources of a reader share.
struct SourceContext {
  int stdin_descriptor = 0;  // the descriptor that "-" stands for
  const Interrupt* interrupt = nullptr;
  std::atomic<uint64_t>* bytes_read = nullptr;  // counts stored bytes, before decompression
  // The bytes of "-" that were read before; null: none.
  std::shared_ptr<const std::string> stdin_head = nullptr;
};

// Returns true if a read of `file` may block until more data arrive: never for a regular file, also if it is
// standard input.
bool may_wait(const InputFile& file, const SourceContext& context);

}  // namespace ps

#endif  // PS_DATA_INPUT_H_
