// The division of an array into one part for each rank, and of each part into chunks, which are messages of
// their own.  Used by the algorithms and by communicators.
#ifndef PS_COLLECTIVE_PARTS_H_
#define PS_COLLECTIVE_PARTS_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "collective/elements.h"

namespace ps {

// Elements [begin, end).
struct ElementRange {
  size_t begin = 0, end = 0;
  size_t count() const { return end - begin; }
};

// Returns part `index` of `count` elements, divided into `num_parts` parts whose sizes differ by at most one,
// the larger parts first.
inline ElementRange even_part(size_t count, int num_parts, int index) {
  const size_t parts = static_cast<size_t>(num_parts), i = static_cast<size_t>(index);
  const size_t size = count / parts, larger = count % parts;
  const size_t begin = i * size + std::min(i, larger);
  return {begin, begin + size + (i < larger ? 1 : 0)};
}

// Returns the ranges of consecutive parts of the given sizes.
inline std::vector<ElementRange> parts_of_counts(std::span<const size_t> counts) {
  std::vector<ElementRange> parts;
  size_t begin = 0;
  for (size_t count : counts) {
    parts.push_back({begin, begin + count});
    begin += count;
  }
  return parts;
}

// Returns the same for the parts of all ranks.  The counts must add up to num_elements.
inline std::vector<ElementRange> parts_of_ranks(std::span<const size_t> counts, int num_ranks,
                                                size_t num_elements) {
  std::vector<ElementRange> parts = parts_of_counts(counts);
  PS_CHECK(parts.size() == static_cast<size_t>(num_ranks) && parts.back().end == num_elements);
  return parts;
}

inline std::vector<ElementRange> even_parts(size_t count, int num_parts) {
  std::vector<ElementRange> parts;
  for (int i = 0; i < num_parts; ++i) parts.push_back(even_part(count, num_parts, i));
  return parts;
}

// A chunk and the numbers to which it is added fit into a core's second-level cache; it is long enough that
// the fixed cost of a message is small.  Sizes of chunks must be the same on all ranks.
inline constexpr size_t kChunkBytes = size_t{128} << 10;

// The most bytes that a rank sends if `direct` takes one round.  Between two ranks one round sends no more
// bytes than two rounds do, and saves a latency; with more ranks the bytes grow with their number.  No message
// may be longer than a chunk.
inline constexpr size_t kOneRoundBytes = kChunkBytes;

// Returns true if every rank sends all of its data to all others and adds everything itself.  The result is the
// same on all ranks.
inline bool direct_takes_one_round(size_t data_bytes, int size) {
  return data_bytes <= kOneRoundBytes / static_cast<size_t>(size - 1);
}

// The chunks of a part.  Constant after construction.
class Chunks {
 public:
  explicit Chunks(Elements part) : part_(part), most_(kChunkBytes / part.element_bytes()) {}

  size_t num() const { return (part_.count() + most_ - 1) / most_; }
  Elements at(size_t index) const {
    const size_t first = index * most_;
    return part_.part(first, std::min(most_, part_.count() - first));
  }

 private:
  Elements part_;
  size_t most_;
};

}  // namespace ps

#endif  // PS_COLLECTIVE_PARTS_H_
