#include "base/direct_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace ps {

namespace {

constexpr uint64_t kDirectUnit = 4096;  // direct access reads whole ones

// Asks mincore(2): a trial read with RWF_NOWAIT would make the system read ahead.
bool is_cached(int file, uint64_t offset) {
  void* page = mmap(nullptr, kDirectUnit, PROT_READ, MAP_SHARED, file,
                    static_cast<off_t>(offset / kDirectUnit * kDirectUnit));
  if (page == MAP_FAILED) return false;
  unsigned char resident = 0;
  mincore(page, kDirectUnit, &resident);
  munmap(page, kDirectUnit);
  return (resident & 1) != 0;
}

}  // namespace

std::unique_ptr<DirectInput> DirectInput::open(int file, uint64_t begin, uint64_t end) {
  constexpr uint64_t kFewBytes = 2 * kPieceBytes;
  // One page from the middle stands for the whole range.
  if (end - begin < kFewBytes || is_cached(file, begin + (end - begin) / 2)) return nullptr;
  // The file is opened again by its descriptor, as its own flags must not change and its name may be
  // another file's by now.
  const int again = ::open(cat("/proc/self/fd/", file).c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (again < 0) return nullptr;
  std::unique_ptr<DirectInput> input(new DirectInput(again, begin, end));
  char* bytes = static_cast<char*>(input->memory_.allocate(input->pieces_.size() * kPieceBytes));
  for (Piece& piece : input->pieces_) {
    piece.bytes = std::exchange(bytes, bytes + kPieceBytes);
    piece.io = AsyncIo::make();
    if (!piece.io) return nullptr;
  }
  const bool begun = input->begin_piece(input->pieces_[0]) && input->next_piece(0);
  return begun ? std::move(input) : nullptr;
}

DirectInput::DirectInput(int file, uint64_t begin, uint64_t end)
    : file_(file), end_(end), offset_(begin), asked_(begin / kDirectUnit * kDirectUnit) {}

// Waits for reads in flight before their memory is freed.
DirectInput::~DirectInput() {
  for (Piece& piece : pieces_) piece.io.reset();
  close(file_);
}

// Copies from the current piece, and moves on to the other piece at its end: while the caller works on the
// bytes of one, the disk fills the other.
bool DirectInput::read(uint64_t offset, std::span<char> out) {
  if (failed_ || offset != offset_) return false;
  while (!out.empty()) {
    const Piece& piece = pieces_[current_];
    if (offset_ == piece.end) {
      failed_ = !next_piece(1 - current_);
      if (failed_) return false;
      continue;
    }
    const size_t some = std::min<size_t>(out.size(), piece.end - offset_);
    std::memcpy(out.data(), piece.bytes + (offset_ - piece.begin), some);
    out = out.subspan(some);
    offset_ += some;
  }
  return true;
}

// Starts reading the next piece; the last piece is shorter than the others.
bool DirectInput::begin_piece(Piece& piece) {
  piece.begin = piece.end = asked_;
  if (asked_ >= end_) return true;
  const uint64_t left = (end_ - asked_ + kDirectUnit - 1) / kDirectUnit * kDirectUnit;
  asked_ += kPieceBytes;
  return piece.io->read(file_, piece.begin, {piece.bytes, std::min<uint64_t>(left, kPieceBytes)}) == 0;
}

// Returns false unless the piece holds the next byte to hand out: after an error, and at an early end of
// the file.
bool DirectInput::end_reading(Piece& piece) {
  const AsyncIo::Result result = piece.io->wait();
  piece.end = piece.begin + result.bytes;
  return result.error == 0 && piece.begin <= offset_ && offset_ < piece.end;
}

// Waits for the read of piece number `next`, makes it the current one, and begins the read of the piece after
// it into the other buffer.  Only one read is in flight at a time.  Queueing more would not make the disk
// faster, since it splits a piece of this size into requests anyway; and some virtual disks report finished
// reads only when their queue is empty, so that a second read would delay the report of the first.
bool DirectInput::next_piece(size_t next) {
  current_ = next;
  return end_reading(pieces_[next]) && begin_piece(pieces_[1 - next]);
}

}  // namespace ps
