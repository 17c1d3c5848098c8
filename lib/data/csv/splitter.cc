#include "data/csv/splitter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace ps {

void CsvSplitter::fail_open() const {
  fail(Code::kData, *name_, ":", pending_line_,
       ": a quote is not closed: quotes around values are set by data.csv.quote");
}

// Blocks of lines become blocks of records.  A record that is open at the end of a block is held back and
// put before the next one.  The header is moved out last, because it may be such a record itself.  Blocks
// of which nothing is left are passed over.
bool CsvSplitter::next(Block& block) {
  while (lines_.next(block)) {
    if (!pending_.empty()) move_pending(block);
    if (dialect_.quote != 0) hold_open_record(block);
    if (has_header_ && !header_moved_) move_header(block);
    if (block.text().empty()) continue;
    block.carry = header_;
    return true;
  }
  if (!pending_.empty()) fail_open();
  return false;
}

void CsvSplitter::move_pending(Block& block) {
  block.bytes.insert(block.skip, pending_);
  block.size += pending_.size();
  block.position = pending_line_;
  pending_.clear();
}

// Moves a record with open quotes from the end of the block into pending_.  It goes from record to record,
// since only the beginning of a record tells which quotes open; a block without quotes needs no search.
void CsvSplitter::hold_open_record(Block& block) {
  const std::string_view text = block.text();
  if (text.find(dialect_.quote) == std::string_view::npos) return;
  const char *p = text.data(), *stop = p + text.size();
  for (bool open = false; p < stop; ++p) {
    const char* end = find_record_end(p, stop, dialect_, open);
    if (!open) {
      p = end;
      continue;
    }
    const auto before = static_cast<size_t>(p - text.data());
    pending_line_ = block.position + count_lines(text.substr(0, before));
    pending_.assign(p, stop);
    if (pending_.size() > LineSplitter::kMaxLineBytes) fail_open();
    block.size = block.skip + before;
    return;
  }
}

// Moves the header, which is the first record that is not empty, out of the block.
void CsvSplitter::move_header(Block& block) {
  while (!header_moved_ && !block.text().empty()) {
    const std::string_view text = block.text();
    bool open = false;
    const char* end = find_record_end(text.data(), text.data() + text.size(), dialect_, open);
    const auto size = static_cast<size_t>(end - text.data());
    header_ = text.substr(0, size);
    if (header_.ends_with('\r')) header_.pop_back();
    header_moved_ = !header_.empty();
    block.position += count_lines(text.substr(0, size)) + 1;
    block.skip += std::min(size + 1, text.size());
  }
}

}  // namespace ps
