// WordNumbers: a number for each of some words, found by views of their bytes; WordIndex: their places in a list that does
// not change, found for many words at once.  Used by the columns of tables.
#ifndef PS_DATA_CSV_WORD_NUMBERS_H_
#define PS_DATA_CSV_WORD_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace ps {

struct WordHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return static_cast<size_t>(hash_bytes(text)); }
};
using WordNumbers = std::unordered_map<std::string, uint64_t, WordHash, std::equal_to<>>;

// Constant after construction: many threads share one.
class WordIndex {
 public:
  // All words differ.
  explicit WordIndex(const std::vector<std::string>& words);

  uint64_t size() const { return words_.size(); }

  // places[i] <- the place of texts[i] in the list, or size() if it is not there.
  void find(std::span<const std::string_view> texts, uint64_t* places) const;

 private:
  // Half of a word's hash, whose other half chooses the slot, and its place; kNone: an empty slot.
  struct Slot {
    uint32_t tag = 0, place = kNone;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  const std::vector<std::string> words_;
  std::vector<Slot> slots_;  // a power of two, at most half full; linear probing
};

}  // namespace ps

#endif  // PS_DATA_CSV_WORD_NUMBERS_H_
