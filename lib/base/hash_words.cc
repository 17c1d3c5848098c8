#include "base/hash_words.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hash.h"

namespace ps {

void hash_words(std::span<uint64_t> words, uint64_t first_seed) {
  // The length is a constant here, so the compiler drops the code for all other lengths.
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = XXH3_64bits_withSeed(&words[i], sizeof words[i], first_seed + i);
}

// Short texts, which most are, are hashed here, and what depends on the seed alone is computed once.
void hash_texts(std::span<const std::string_view> texts, uint64_t seed, uint64_t* hashes) {
  constexpr size_t kShort = 16;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = texts[i];
    hashes[i] =
        text.size() <= kShort ? XXH3_64bits_withSeed(text.data(), text.size(), seed) : hash_bytes(text, seed);
  }
}

}  // namespace ps
