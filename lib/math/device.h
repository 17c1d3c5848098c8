// Device: the processor on which kernels compute.  Passed to all code that computes: kernels, tables, layers,
// costs, stores, the trainer.  Work of the host alone, such as parsing, takes a ThreadPool
// (base/thread_pool.h).
//
// A kernel is a named function of math/ that takes a Device and plain arrays, divides its items into blocks,
// and gives each block to the device.  Layers, costs and activations call kernels and have no loops of their
// own, so that they are written once: a device of another kind implements the kernels again, under the same
// names.  When a kernel returns, its results are in memory.
#ifndef PS_MATH_DEVICE_H_
#define PS_MATH_DEVICE_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "base/cpu.h"
#include "base/thread_pool.h"

namespace ps {

// The processor, with a fixed number of threads and a level of instruction sets.  The number of threads never
// changes a result: the sizes of blocks do not depend on it, and each block is computed by one thread in one
// order.  Levels may round differently (base/cpu.h).  Owner thread only; any thread may call threads() and
// cpu().
class Device {
 public:
  // `threads` includes the caller's thread: with 1, no thread is started and every kernel runs on the
  // caller's.  The processor must have the level `cpu`.  Throws kExhausted if the system has no more threads.
  Device(int threads, CpuLevel cpu) : cpu_(cpu), pool_(threads) {}

  int threads() const { return pool_.threads(); }
  CpuLevel cpu() const { return cpu_; }

  // Calls body(block) once for every block in [0, blocks), and returns when all calls have ended.  Then the
  // first exception is rethrown.  A body must not start another loop of the device.
  void run(int64_t blocks, const std::function<void(int64_t)>& body) { pool_.run(blocks, body); }

  // Calls body(begin, end) for [0, items) divided into blocks of `block` items; the last block may be
  // shorter.
  template <class Body>
  void for_each(int64_t items, int64_t block, Body&& body) {
    pool_.for_each(items, block, std::forward<Body>(body));
  }

 private:
  const CpuLevel cpu_;
  ThreadPool pool_;
};

}  // namespace ps

#endif  // PS_MATH_DEVICE_H_
