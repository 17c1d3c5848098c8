// Memory on pages of a known kind.  Used by benchmarks of memory, and to hold their data.
#ifndef PS_BENCH_PAGES_H_
#define PS_BENCH_PAGES_H_

#include <cstdint>
#include <span>

#include "bench/benchmark.h"

namespace ps {

enum class PageKind { kHuge, kSmall };

// Memory that begins as zeros, on pages of 2 MiB as far as the system gives them, or on pages of 4 KiB.  One
// owner thread.
class Pages {
 public:
  // Throws kUnavailable when the machine has less free memory than `bytes`, kExhausted when the system
  // refuses.
  Pages(uint64_t bytes, PageKind kind);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&&) = delete;

  char* data() const { return data_; }
  uint64_t size() const { return size_; }

  template <class Item>
  std::span<Item> as() const {
    return {reinterpret_cast<Item*>(data_), size_ / sizeof(Item)};
  }

 private:
  void* mapping_;
  uint64_t mapped_, size_;
  char* data_;  // start of the bytes in the mapping, on a boundary of 2 MiB
};

// The share [begin, end) of one thread in the items [0, items).
struct ThreadPart {
  int64_t begin, end;
};
ThreadPart thread_part(int64_t items, int threads, int64_t index);

// Returns the largest power of two of `unit`s within scale * full, but at least one unit.
uint64_t scaled_power(double scale, uint64_t full, uint64_t unit);

}  // namespace ps

#endif  // PS_BENCH_PAGES_H_
