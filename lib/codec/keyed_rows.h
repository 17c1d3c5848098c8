// KeyedRows: rows of floats by key, which are added and never removed.  Used for the state that a trainer keeps
// for the rows that it has used.
#ifndef PS_CODEC_KEYED_ROWS_H_
#define PS_CODEC_KEYED_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/huge_pages.h"
#include "table/key_index.h"

namespace ps {

// One thread at a time.  Rows never move.
class KeyedRows {
 public:
  explicit KeyedRows(int64_t width);

  // Returns the row of a key, or null.
  float* find(uint64_t key) const;

  // Adds a row of zeros for a key that has none.  Throws kExhausted.
  float* add(uint64_t key);

  float* find_or_add(uint64_t key) {
    float* row = find(key);
    return row != nullptr ? row : add(key);
  }

  // The keys in the order in which they were added.
  std::span<const uint64_t> keys() const { return keys_; }
  float* row(size_t number) const { return blocks_[number / block_rows_] + number % block_rows_ * width_; }

  uint64_t size() const { return keys_.size(); }

  // The approximate bytes of a row of this width, with its key and its entry in the index.
  static uint64_t row_bytes(int64_t width) { return static_cast<uint64_t>(width) * sizeof(float) + 32; }

 private:
  const size_t width_, block_rows_;
  HugeArena arena_;
  KeyIndex index_{arena_};
  std::vector<uint64_t> keys_;
  std::vector<float*> blocks_;
};

}  // namespace ps

#endif  // PS_CODEC_KEYED_ROWS_H_
