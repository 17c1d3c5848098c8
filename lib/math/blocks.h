// Divides the loops of kernels into blocks, by the shape of the work alone, so that results do not depend on
// the number of threads.  Used by kernels.
#ifndef PS_MATH_BLOCKS_H_
#define PS_MATH_BLOCKS_H_

#include <algorithm>
#include <cstdint>

#include "math/device.h"
#include "math/device_kernels.h"

namespace ps {

// Returns how many items of `work` operations each make one block.  A block of 1 Mi operations takes some 200
// us. Waking a thread takes a tenth of that, and takes a core from the threads that prepare the next batch.
inline int64_t block_items(int64_t work) {
  constexpr int64_t kBlockOperations = 1 << 20;
  return std::max<int64_t>(1, kBlockOperations / std::max<int64_t>(1, work));
}

// Calls body(i) for i in [0, items), each of which takes some `work` operations and depends on no other.  A body that
// AnyItems lists runs on a device with memory of its own too.
template <class Body>
void for_items(Device& device, int64_t items, int64_t work, const Body& body) {
  if (run_there(device, items, body)) return;
  device.for_each(items, block_items(work), [&body](int64_t begin, int64_t end) {
    const Body item = body;  // a copy of its own: the compiler sees that stores into arrays do not change it
    for (int64_t i = begin; i < end; ++i) item(i);
  });
}

}  // namespace ps

#endif  // PS_MATH_BLOCKS_H_
