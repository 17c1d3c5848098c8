// Block: a part of a file that can be parsed by itself, and Splitter, which cuts a file into blocks.  Used by the
// formats.
#ifndef PS_DATA_BLOCK_H_
#define PS_DATA_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ps {

// A part of a file that can be parsed by itself.  Blocks are reused, and keep their memory.
struct Block {
  static constexpr size_t kPadding = 16;  // bytes after the text: scanners load 8 at a time

  std::shared_ptr<const std::string> file;  // name of the file, for messages
  size_t file_number = 0;                   // number of the file among those of the stream
  uint64_t position = 0;                    // number of the first line (from 1), or offset of the first byte
  size_t skip = 0, size = 0;                // the text is bytes [skip, size); more may follow
  std::string bytes;
  std::string carry;   // text before the block that the format needs to parse it
  std::string follow;  // text after the block that the format needs

  std::string_view text() const { return std::string_view(bytes).substr(skip, size - skip); }
};

// Cuts one file into blocks.  One owner thread.
class Splitter {
 public:
  virtual ~Splitter() = default;

  // Returns false at the end of the file.  When the file is damaged, the blocks before the damage are
  // returned first; then the error is thrown.
  virtual bool next(Block& block) = 0;
};

}  // namespace ps

#endif  // PS_DATA_BLOCK_H_
