// Device: where numbers are computed.  Passed to all that computes: kernels, tables, layers, costs, stores, the
// trainer.  Work of the host alone, such as parsing, takes a ThreadPool (base/thread_pool.h).
//
// A kernel is a named function of math/ that takes a Device and plain arrays, cuts its items into blocks, and
// gives each block to the device.  Layers, costs and activations call kernels and have no loops of their own, so
// that they are written once: a device of another kind implements the kernels again, under the same names.  All
// that a kernel writes is there when it returns.
#ifndef PS_MATH_DEVICE_H_
#define PS_MATH_DEVICE_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "base/thread_pool.h"

namespace ps {

// The processor, with a fixed number of threads.  They never change a result: the sizes of blocks do not depend
// on them, and each block is computed by one thread in one order.  Owner thread only; any thread may ask for
// threads().
class Device {
 public:
  // `threads` includes the caller's: 1 starts none and runs every kernel in place.  Throws kExhausted when the
  // system has no more threads to give.
  explicit Device(int threads) : pool_(threads) {}

  int threads() const { return pool_.threads(); }

  // Calls body(block) once for every block in [0, blocks), and returns when all are done.  The first exception
  // is rethrown here, after the rest have ended.  A body starts no other loop of the device.
  void run(int64_t blocks, const std::function<void(int64_t)>& body) { pool_.run(blocks, body); }

  // Calls body(begin, end) for [0, items) cut into blocks of `block` items, the last one shorter.
  template <class Body>
  void for_each(int64_t items, int64_t block, Body&& body) {
    pool_.for_each(items, block, std::forward<Body>(body));
  }

 private:
  ThreadPool pool_;
};

}  // namespace ps

#endif  // PS_MATH_DEVICE_H_
