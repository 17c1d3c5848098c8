#include "data/csv/word_numbers.h"

#include <bit>

#include "base/error.h"
#include "base/hash_words.h"

namespace ps {

WordIndex::WordIndex(const std::vector<std::string>& words)
    : words_(words), slots_(std::bit_ceil(2 * words.size() + 1)) {
  PS_CHECK(words_.size() < kNone);
  for (uint32_t place = 0; place < words_.size(); ++place) {
    const uint64_t hash = hash_bytes(words_[place]);
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot].place != kNone) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = {static_cast<uint32_t>(hash >> 32), place};
  }
}

// A word is compared only where its tag is that of a slot.
void WordIndex::find(std::span<const std::string_view> texts, uint64_t* places) const {
  hash_texts(texts, 0, places);  // seed 0 is that of hash_bytes
  for (size_t i = 0; i < texts.size(); ++i) {
    const uint64_t hash = places[i];
    const uint32_t tag = static_cast<uint32_t>(hash >> 32);
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot].place != kNone &&
           (slots_[slot].tag != tag || words_[slots_[slot].place] != texts[i])) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    places[i] = slots_[slot].place == kNone ? size() : slots_[slot].place;
  }
}

}  // namespace ps
