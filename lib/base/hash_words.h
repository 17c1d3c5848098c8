// Hashes of many pieces of text in one call.  Used by parsers of categories.
#ifndef PS_BASE_HASH_WORDS_H_
#define PS_BASE_HASH_WORDS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace ps {

// Replaces words[i] by hash_bytes of its 8 bytes, as they lie in memory, with seed `first_seed` + i.
void hash_words(std::span<uint64_t> words, uint64_t first_seed);

// Sets hashes[i] to hash_bytes(texts[i], seed).
void hash_texts(std::span<const std::string_view> texts, uint64_t seed, uint64_t* hashes);

}  // namespace ps

#endif  // PS_BASE_HASH_WORDS_H_
