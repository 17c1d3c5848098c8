// DirectInput: a piece of a file that is read once, from its beginning to its end.  Used by ChunkReader.
#ifndef PS_BASE_DIRECT_INPUT_H_
#define PS_BASE_DIRECT_INPUT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/async_io.h"
#include "base/huge_pages.h"

namespace ps {

// Reads ahead of whoever asks, past the system's cache, which would cost memory, and a copy into it.  One
// owner thread.
class DirectInput {
 public:
  // Of what is at offsets begin to end of an open file.  Null where that is little, or in the cache, or
  // cannot be read so: there is nothing to be gained.
  static std::unique_ptr<DirectInput> open(int file, uint64_t begin, uint64_t end);
  ~DirectInput();
  DirectInput(const DirectInput&) = delete;
  DirectInput& operator=(const DirectInput&) = delete;

  // The bytes at `offset`, where the last ones ended.  False when they cannot be had in this way, now or
  // ever: to be read in another.
  bool read(uint64_t offset, std::span<char> out);

 private:
  static constexpr size_t kPieceBytes = size_t{1} << 20;

  struct Piece {
    char* bytes = nullptr;
    std::unique_ptr<AsyncIo> io;
    uint64_t begin = 0, end = 0;  // offsets of what is in it
  };

  DirectInput(int file, uint64_t begin, uint64_t end);
  bool begin_piece(Piece& piece);
  bool end_reading(Piece& piece);
  bool next_piece(size_t next);

  const int file_;
  const uint64_t end_;
  uint64_t offset_;              // of what is read next
  uint64_t asked_;               // where the pieces end that have been begun
  HugeArena memory_;             // on a huge page, which the disk is told of at once
  std::array<Piece, 2> pieces_;  // used by turns
  size_t current_ = 0;           // the piece that offset_ is in, or at the end of
  bool failed_ = false;
};

}  // namespace ps

#endif  // PS_BASE_DIRECT_INPUT_H_
