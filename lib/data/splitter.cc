#include "data/splitter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/records.h"

namespace ps {

bool LineSplitter::read_some(std::string& bytes) {
  size_t before = bytes.size();
  bytes.resize(std::max(kBlockBytes, before + before / 2 + 4096));
  size_t got = 0;
  try {
    if (!ended_) got = source_.read(bytes.data() + before, bytes.size() - before);
  } catch (...) {
    fault_ = std::current_exception();
  }
  bytes.resize(before + got);
  return got > 0;
}

size_t LineSplitter::fill(std::string& bytes) {
  size_t end = 0, searched = 0;
  while (end == 0 || (bytes.size() < kBlockBytes && source_.ready())) {
    if (!read_some(bytes)) {
      ended_ = true;
      if (fault_) return end;
      if (bytes.size() > end) bytes += '\n';
      return bytes.size();
    }
    size_t newline = std::string_view(bytes).substr(searched).rfind('\n');
    if (newline != std::string_view::npos) end = searched + newline + 1;
    searched = bytes.size();
    if (bytes.size() <= kMaxLineBytes) continue;
    // Only the first line can be too long: none of those after it was there before this read.
    if (std::min(bytes.find('\n'), bytes.size()) > kMaxLineBytes) {
      fail(Code::kData, *source_.name(), ":", line_, ": line is longer than ", kMaxLineBytes >> 20, " MiB");
    }
    if (end > 0) return end;
  }
  return end;
}

bool LineSplitter::next(Block& block) {
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
  if (ended_) return false;
  block.bytes.swap(tail_);
  block.size = fill(block.bytes);
  tail_.assign(block.bytes, block.size);
  block.bytes.resize(block.size);
  block.bytes.append(Block::kPadding, '\0');
  block.file = source_.name();
  block.place = line_;
  block.skip = std::exchange(first_, false) && block.text().starts_with("\xef\xbb\xbf") ? 3 : 0;
  block.carry.clear();
  line_ += static_cast<uint64_t>(std::count(block.bytes.begin(), block.bytes.end(), '\n'));
  if (block.size > 0) return true;
  return next(block);
}

bool RecordsSplitter::take(std::string& bytes, size_t size) {
  constexpr size_t kPiece = size_t{1} << 20;  // a length is believed only as far as bytes have come
  size_t begin = bytes.size(), end = begin + size;
  while (bytes.size() < end) {
    size_t before = bytes.size();
    bytes.resize(std::min(end, before + kPiece));
    size_t got = source_.read(bytes.data() + before, bytes.size() - before);
    bytes.resize(before + got);
    if (got == 0 && before == begin) return false;
    if (got == 0) fail(Code::kCorrupt, "cut short");
  }
  return true;
}

bool RecordsSplitter::next_part(Block& block) {
  block.bytes.clear();
  if (!take(block.bytes, kRecordsHeaderBytes)) {
    if (open_) fail(Code::kCorrupt, "cut short");
    return false;
  }
  RecordsPart part = decode_records_part(block.bytes);
  if ((part.kind == RecordsPart::kHeader) == open_) {
    fail(Code::kCorrupt,
         open_ ? "a stream begins before the one before has ended" : "a chunk outside a stream");
  }
  open_ = part.kind != RecordsPart::kEnd;
  if (part.size > 0 && !take(block.bytes, part.size)) fail(Code::kCorrupt, "cut short");
  block.size = block.bytes.size();
  return true;
}

bool RecordsSplitter::next(Block& block) {
  block.file = source_.name();
  block.place = offset_;
  block.skip = block.size = 0;
  block.carry.clear();
  try {
    if (!next_part(block)) return false;
  } catch (const Error& error) {
    if (error.message().starts_with(*block.file)) throw;  // of the source, which has said where
    throw error.within(cat(*block.file, ": offset ", offset_));
  }
  offset_ += block.size;
  return true;
}

}  // namespace ps
