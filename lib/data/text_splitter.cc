#include "data/text_splitter.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "data/words.h"

namespace ps {

// A block may have fewer than after_ words, or none, so the words behind the first may come from several
// blocks.
bool TextSplitter::is_followed() const {
  size_t behind = 0;
  for (size_t i = 1; i < waiting_.size(); ++i) behind += waiting_[i].first.size();
  return !waiting_.empty() && behind >= after_;
}

// Appends one block to waiting_, with its first words.  Its memory is that of `room`, which gets an empty
// block in exchange.  An error waits as well, until the blocks before it are handed out.
void TextSplitter::read_ahead(Block& room) {
  try {
    ended_ = !lines_.next(room);
  } catch (...) {
    ended_ = true;
    fault_ = std::current_exception();
  }
  if (ended_) return;
  const std::string_view text = room.text();
  Waiting& last = waiting_.emplace_back();
  room.position = offset_;
  offset_ += text.size();
  for (size_t at = 0; last.first.size() < after_;) {
    const std::string_view word = next_word(text, at);
    if (word.empty()) break;
    last.first.push_back({std::string(word), room.position + at});
  }
  std::swap(last.block, room);
}

// Reads until the words behind the first waiting block are known, then hands that out: with the last words
// before it, recent_, and the first after_ words of the blocks behind.
bool TextSplitter::next(Block& block) {
  while (!ended_ && !is_followed()) read_ahead(block);
  if (waiting_.empty()) {
    if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
    return false;
  }
  std::swap(block, waiting_.front().block);
  waiting_.pop_front();
  block.carry = written(recent_);
  std::deque<WordAt> behind;
  for (const Waiting& waiting : waiting_)
    behind.insert(behind.end(), waiting.first.begin(), waiting.first.end());
  if (behind.size() > after_) behind.resize(after_);
  block.follow = written(behind);
  remember(block);
  return true;
}

// Keeps the last words of a block. It looks at the last bytes only, and at more of them if they hold too few words; the
// first word found there is dropped, since it may be the end of a longer one.
void TextSplitter::remember(const Block& block) {
  const std::string_view text = block.text();
  for (size_t tail = 4096;; tail *= 8) {
    const bool whole = text.size() <= tail;
    const size_t begin = whole ? 0 : text.size() - tail;
    std::vector<WordAt> words;
    size_t at = begin;
    for (std::string_view word = next_word(text, at); !word.empty(); word = next_word(text, at))
      words.push_back({std::string(word), block.position + at});
    if (!whole && words.size() < before_ + 1) continue;
    for (WordAt& word : words) recent_.push_back(std::move(word));
    while (recent_.size() > before_) recent_.pop_front();
    return;
  }
}

std::string TextSplitter::written(const std::deque<WordAt>& words) {
  std::string out;
  for (const WordAt& word : words) out += cat(word.word, " ", word.offset, " ");
  return out;
}

}  // namespace ps
