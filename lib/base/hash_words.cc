#include "base/hash_words.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ps {

void hash_words(std::span<uint64_t> words, uint64_t first_seed) {
  // The length is a constant here, so the compiler drops the code for all other lengths.
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = XXH3_64bits_withSeed(&words[i], sizeof words[i], first_seed + i);
}

}  // namespace ps
