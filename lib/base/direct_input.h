// DirectInput: reads a range of a file once, from its beginning to its end.  Used by ChunkReader.
#ifndef PS_BASE_DIRECT_INPUT_H_
#define PS_BASE_DIRECT_INPUT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/async_io.h"
#include "base/huge_pages.h"

namespace ps {

// Reads ahead of its caller with direct access, since the system's page cache would cost memory and one more
// copy.  One owner thread.
class DirectInput {
 public:
  // Opens the range [begin, end) of an open file.  Returns null where direct access gains nothing: the range
  // is short, or in the page cache already, or its file system has no direct access.
  static std::unique_ptr<DirectInput> open(int file, uint64_t begin, uint64_t end);
  ~DirectInput();
  DirectInput(const DirectInput&) = delete;
  DirectInput& operator=(const DirectInput&) = delete;

  // Fills `out` with the bytes at `offset`, which must be the end of the bytes read last.  Returns false when
  // direct access failed: the caller must read this and all further bytes in another way.
  bool read(uint64_t offset, std::span<char> out);

 private:
  static constexpr size_t kPieceBytes = size_t{1} << 20;

  struct Piece {
    char* bytes = nullptr;
    std::unique_ptr<AsyncIo> io;
    uint64_t begin = 0, end = 0;  // offsets in the file of the bytes that it holds
  };

  DirectInput(int file, uint64_t begin, uint64_t end);
  bool begin_piece(Piece& piece);
  bool end_reading(Piece& piece);
  bool next_piece(size_t next);

  const int file_;
  const uint64_t end_;
  uint64_t offset_;              // offset of the next byte to hand out
  uint64_t asked_;               // end of the last piece whose read has begun
  HugeArena memory_;             // on a huge page: one entry of the disk's scatter list
  std::array<Piece, 2> pieces_;  // used by turns
  size_t current_ = 0;           // the piece that offset_ is in, or at the end of
  bool failed_ = false;
};

}  // namespace ps

#endif  // PS_BASE_DIRECT_INPUT_H_
