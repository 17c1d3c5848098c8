#include "data/block_stream.h"

namespace ps {

bool BlockStream::open() {
  splitter_.reset();
  source_.reset();
  if (next_file_ == files_.size()) return false;
  source_ = std::make_unique<ByteSource>(files_[next_file_++], context_);
  return true;
}

std::string_view BlockStream::head(std::string& name) {
  while (open()) {
    std::string_view head = source_->peek(head_is_enough);
    if (head.empty()) continue;
    name = *source_->name();
    return head;
  }
  return {};
}

// Goes through the blocks of one file after the other.  head() may have opened the first file already; its
// splitter is made only here, since the format may follow from that head.
bool BlockStream::next(Block& block) {
  while (source_ || open()) {
    if (!splitter_) splitter_ = format_->split(options_, *source_);
    block.file_number = next_file_ - 1;
    if (splitter_->next(block)) return true;
    splitter_.reset();
    source_.reset();
  }
  return false;
}

}  // namespace ps
