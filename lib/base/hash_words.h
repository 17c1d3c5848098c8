// Hashes of many pieces of 8 bytes in one call.  Used by parsers whose categories are that long.
#ifndef PS_BASE_HASH_WORDS_H_
#define PS_BASE_HASH_WORDS_H_

#include <cstdint>
#include <span>

namespace ps {

// Replaces words[i] by hash_bytes of its 8 bytes, as they lie in memory, with seed `first_seed` + i.
void hash_words(std::span<uint64_t> words, uint64_t first_seed);

}  // namespace ps

#endif  // PS_BASE_HASH_WORDS_H_
