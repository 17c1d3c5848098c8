#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <new>

namespace ps {

uint64_t hash_bytes(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

void ByteHasher::reset() {
  static_assert(sizeof(XXH3_state_t) == sizeof state_ && alignof(XXH3_state_t) <= 64);
  XXH3_64bits_reset(new (state_) XXH3_state_t);
}

void ByteHasher::update(std::string_view piece) {
  XXH3_64bits_update(reinterpret_cast<XXH3_state_t*>(state_), piece.data(), piece.size());
}

uint64_t ByteHasher::digest() const {
  return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t*>(state_));
}

}  // namespace ps
