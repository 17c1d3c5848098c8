// How loops of kernels are cut into blocks: by the shape of the work alone, so that results do not depend on
// threads.
#ifndef PS_MATH_BLOCKS_H_
#define PS_MATH_BLOCKS_H_

#include <algorithm>
#include <cstdint>

namespace ps {

// Items of `work` operations each that make one block.  A block of 1 Mi operations takes some 200 us, ten
// times as long as waking a thread does, which also takes a core from those that prepare the next batch.
inline int64_t block_items(int64_t work) {
  constexpr int64_t kBlockOperations = 1 << 20;
  return std::max<int64_t>(1, kBlockOperations / std::max<int64_t>(1, work));
}

}  // namespace ps

#endif  // PS_MATH_BLOCKS_H_
