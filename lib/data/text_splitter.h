// TextSplitter: splits plain text into blocks of lines, together with the words around them.  Used by the
// format `text`.
#ifndef PS_DATA_TEXT_SPLITTER_H_
#define PS_DATA_TEXT_SPLITTER_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <string_view>

#include "data/splitter.h"

namespace ps {

// Calls use(word, offset) for words that are written as "word offset ", as in Block::carry and Block::follow.
// A word's offset is the offset of its end in the text of the file, so that no two words of a file share one.
template <class Use>
void each_word_at(std::string_view words, Use&& use) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(word.size() + 1);
    uint64_t offset = 0;
    const auto number = std::from_chars(words.data(), words.data() + words.size(), offset);
    words.remove_prefix(static_cast<size_t>(number.ptr - words.data()) + 1);
    use(word, offset);
  }
}

// A block's position is the offset of its first byte in the text of the file.  Its carry has the `before` words
// before it, or as many as there are, and its follow the `after` words behind it.  So a block is returned only
// after those have been read; if `after` is 0, at once.  One owner thread.
class TextSplitter : public Splitter {
 public:
  TextSplitter(ByteSource& source, int before, int after)
      : lines_(source), before_(static_cast<size_t>(before)), after_(static_cast<size_t>(after)) {}

  bool next(Block& block) override;

 private:
  struct WordAt {
    std::string word;
    uint64_t offset;
  };
  struct Waiting {
    Block block;
    std::deque<WordAt> first;  // its first words, at most after_
  };

  bool is_followed() const;      // true if the words behind the first waiting block are there
  void read_ahead(Block& room);  // reads one more waiting block into the memory of `room`
  void remember(const Block& block);
  static std::string written(const std::deque<WordAt>& words);

  LineSplitter lines_;
  const size_t before_, after_;
  uint64_t offset_ = 0;          // offset of the next block to be read
  std::deque<Waiting> waiting_;  // blocks that are read and not returned yet
  std::deque<WordAt> recent_;    // the last words that were returned, at most before_
  bool ended_ = false;
  std::exception_ptr fault_;  // an error behind the waiting blocks
};

}  // namespace ps

#endif  // PS_DATA_TEXT_SPLITTER_H_
