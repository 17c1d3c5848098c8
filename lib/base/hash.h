// Hashes whose results are on disk or decide where a row lives: frozen, never change.
#ifndef PS_BASE_HASH_H_
#define PS_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ps {

// A bijection of 64-bit integers that spreads keys: the finalizer of MurmurHash3 (Appleby).  High bits choose
// a row's partition, low bits its position in the partition's index.
constexpr uint64_t hash_key(uint64_t key) {
  key ^= key >> 33;
  key *= 0xff51afd7ed558ccdULL;
  key ^= key >> 33;
  key *= 0xc4ceb9fe1a85ec53ULL;
  key ^= key >> 33;
  return key;
}

// XXH3, 64 bits: checksums of chunks and records, and ids of words and categories.
uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0);

// Computes hash_bytes of bytes that come in pieces.  One owner thread.  The result depends on the bytes alone,
// not on how they are split.
class ByteHasher {
 public:
  ByteHasher() { reset(); }

  void reset();
  void update(std::string_view piece);
  uint64_t digest() const;

 private:
  alignas(64) std::byte state_[576];  // XXH3_state_t
};

}  // namespace ps

#endif  // PS_BASE_HASH_H_
