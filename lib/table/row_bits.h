// RowBits: a bit for each row, by its number or its key.  Used by ArrayRows and RowSlabs, for snapshots.
#ifndef PS_TABLE_ROW_BITS_H_
#define PS_TABLE_ROW_BITS_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace ps {

// All bits are clear at first.  It takes no memory until a bit is set, and then only pages with set bits.
// One thread at a time.
class RowBits {
 public:
  bool has(uint64_t n) const { return n / 64 < num_words_ && (words_[n / 64] >> n % 64 & 1) != 0; }

  // Sets bit n of `count` bits.  Returns false if it was set already.  Throws std::bad_alloc.
  bool set(uint64_t n, uint64_t count) {
    if (n / 64 >= num_words_) grow(count / 64 + 1);
    uint64_t& word = words_[n / 64];
    const uint64_t before = word;
    word |= uint64_t{1} << n % 64;
    return word != before;
  }

  void reset(uint64_t n) {
    if (has(n)) words_[n / 64] &= ~(uint64_t{1} << n % 64);
  }

  void clear() {
    words_.reset();
    num_words_ = 0;
  }

  uint64_t memory_bytes() const { return num_words_ * sizeof(uint64_t); }

 private:
  struct Free {
    void operator()(uint64_t* words) const { std::free(words); }
  };

  // Mapped memory is zero without being touched; a vector would touch all pages to clear them.
  void grow(uint64_t num_words) {
    auto* words = static_cast<uint64_t*>(std::calloc(num_words, sizeof(uint64_t)));
    if (words == nullptr) throw std::bad_alloc();
    std::copy_n(words_.get(), num_words_, words);
    words_.reset(words);
    num_words_ = num_words;
  }

  uint64_t num_words_ = 0;
  std::unique_ptr<uint64_t[], Free> words_;
};

}  // namespace ps

#endif  // PS_TABLE_ROW_BITS_H_
