#include "data/splitter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/records.h"

namespace ps {

// Counts in pieces of fewer than 256 bytes: the count of a piece fits into 8 bits, so that compilers compare and add 16
// bytes at a time.
uint64_t count_lines(std::string_view text) {
  constexpr size_t kPiece = 240;
  uint64_t lines = 0;
  for (; !text.empty(); text.remove_prefix(std::min(kPiece, text.size()))) {
    uint8_t in_block = 0;
    for (char c : text.substr(0, kPiece)) in_block = static_cast<uint8_t>(in_block + (c == '\n'));
    lines += in_block;
  }
  return lines;
}

// Makes room for `size` bytes.  Blocks are reused and never shrunk: growing a string clears bytes that the
// next read overwrites anyway.
static void make_room(std::string& bytes, size_t size) {
  if (bytes.size() < size) bytes.resize(size);
}

// Reads more bytes behind the first `size`.  Returns false at the end, or after an error, which is kept for
// later.  Room grows by half of what is there, so that even a long line is moved only a few times.
bool LineSplitter::read_some(std::string& bytes, size_t& size) {
  size_t most = std::max(kBlockBytes, size + size / 2 + 4096), got = 0;
  make_room(bytes, most + 1 + Block::kPadding);
  try {
    if (!ended_) got = source_.read(bytes.data() + size, most - size);
  } catch (...) {
    fault_ = std::current_exception();
  }
  size += got;
  return got > 0;
}

// Invariant: bytes[0, end) are whole lines, and all line ends among bytes[0, searched) lie before `end`.
// It reads until there is a line, and goes on as long as the block is not full and reading would not block.
// At the end of the input a last line without \n gets one.  After an error the lines before it are returned
// all the same, and the next call throws it.
size_t LineSplitter::fill(std::string& bytes, size_t& size) {
  size_t end = 0, searched = 0;
  while (end == 0 || (size < kBlockBytes && source_.ready())) {
    if (!read_some(bytes, size)) {
      ended_ = true;
      if (fault_) return end;
      if (size > end) bytes[size++] = '\n';
      return size;
    }
    std::string_view text(bytes.data(), size);
    size_t newline = text.substr(searched).rfind('\n');
    if (newline != std::string_view::npos) end = searched + newline + 1;
    searched = size;
    if (size <= kMaxLineBytes) continue;
    // Only the first line can be too long: all lines after it began within this read.
    if (std::min(text.find('\n'), size) > kMaxLineBytes) {
      fail(Code::kData, *source_.name(), ":", line_, ": line is longer than ", kMaxLineBytes >> 20, " MiB");
    }
    if (end > 0) return end;
  }
  return end;
}

// Begins with the bytes that were left of the last block, and leaves those behind its last whole line to
// the next.  A block without lines comes only at the end of the input or before an error: the call of
// itself then returns false, or throws the error.
bool LineSplitter::next(Block& block) {
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
  if (ended_) return false;
  make_room(block.bytes, tail_.size());
  size_t size = tail_.copy(block.bytes.data(), tail_.size());
  block.size = fill(block.bytes, size);
  tail_.assign(block.bytes, block.size, size - block.size);
  std::fill_n(block.bytes.begin() + static_cast<std::ptrdiff_t>(block.size), Block::kPadding, '\0');
  block.file = source_.name();
  block.position = line_;
  block.skip = 0;
  if (std::exchange(first_, false) && block.text().starts_with("\xef\xbb\xbf")) block.skip = 3;
  block.carry.clear();
  line_ += count_lines(block.text());
  if (block.size > 0) return true;
  return next(block);
}

bool RecordsSplitter::append(Block& block, size_t size) {
  constexpr size_t kPiece = size_t{1} << 20;  // memory for a claimed length grows as its bytes arrive
  size_t begin = block.size, end = begin + size;
  while (block.size < end) {
    make_room(block.bytes, std::min(end, block.size + kPiece));
    size_t got = source_.read(block.bytes.data() + block.size, std::min(end - block.size, kPiece));
    if (got == 0 && block.size == begin) return false;
    if (got == 0) fail(Code::kCorrupt, "cut short");
    block.size += got;
  }
  return true;
}

// Appends one header, chunk or end with what follows its head.  Outside a stream only a header may come,
// and within one anything else.
bool RecordsSplitter::next_part(Block& block) {
  if (!append(block, kRecordsHeaderBytes)) {
    if (open_) fail(Code::kCorrupt, "cut short");
    return false;
  }
  RecordsHead decoded = decode_records_head(block.text());
  if ((decoded.kind == RecordsHead::kHeader) == open_) {
    fail(Code::kCorrupt,
         open_ ? "a stream begins before the one before has ended" : "a chunk outside a stream");
  }
  open_ = decoded.kind != RecordsHead::kEnd;
  if (decoded.size > 0 && !append(block, decoded.size)) fail(Code::kCorrupt, "cut short");
  return true;
}

bool RecordsSplitter::next(Block& block) {
  block.file = source_.name();
  block.position = offset_;
  block.skip = block.size = 0;
  block.carry.clear();
  try {
    if (!next_part(block)) return false;
  } catch (const Error& error) {
    if (error.message().starts_with(*block.file)) throw;  // an error of the source names the file already
    throw error.within(cat(*block.file, ": offset ", offset_));
  }
  offset_ += block.size;
  return true;
}

std::unique_ptr<Splitter> split_lines(const DataOptions&, ByteSource& source) {
  return std::make_unique<LineSplitter>(source);
}

}  // namespace ps
