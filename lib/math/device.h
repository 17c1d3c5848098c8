// Device: the processor on which kernels compute.  Passed to all code that computes: kernels, tables, layers,
// costs, stores, the trainer.  Work of the host alone, such as parsing, takes a ThreadPool
// (base/thread_pool.h).
//
// A kernel is a named function of math/ that takes a Device and plain arrays, divides its items into blocks,
// and gives each block to the device.  Layers, costs and activations call kernels and have no loops of their
// own, so that they are written once.  When a kernel returns, its results are in memory.
//
// A device with memory of its own, such as a GPU, has DeviceKernels (math/device_kernels.h).  The same functions then
// take arrays in that memory, and queue their work there.
#ifndef PS_MATH_DEVICE_H_
#define PS_MATH_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"

namespace ps {

class DeviceKernels;

// The processor, with a fixed number of threads and a level of instruction sets.  The number of threads never
// changes a result: the sizes of blocks do not depend on it, and each block is computed by one thread in one
// order.  Levels may round differently (base/cpu.h).  Owner thread only; any thread may call threads() and
// cpu().
class Device {
 public:
  // `threads` includes the caller's thread: with 1, no thread is started and every kernel runs on the
  // caller's.  The processor must have the level `cpu`.  Throws kExhausted if the system has no more threads.
  Device(int threads, CpuLevel cpu) : cpu_(cpu), pool_(threads) {}

  // A device with memory of its own.  `host` is the processor, which does the work that has no kernel there; it
  // outlives this.
  Device(Device& host, std::shared_ptr<DeviceKernels> kernels)
      : cpu_(host.cpu()), pool_(1), host_(&host), kernels_(std::move(kernels)) {}

  int threads() const { return pool_.threads(); }
  CpuLevel cpu() const { return cpu_; }

  // Null: this is the processor.
  const std::shared_ptr<DeviceKernels>& kernels() const { return kernels_; }
  Device& host() { return host_ == nullptr ? *this : *host_; }

  // Calls body(block) once for every block in [0, blocks), and returns when all calls have ended.  Then the
  // first exception is rethrown.  A body must not start another loop of the device.  The processor alone has
  // it.
  void run(int64_t blocks, const std::function<void(int64_t)>& body) {
    PS_CHECK(kernels_ == nullptr);
    pool_.run(blocks, body);
  }

  // Calls body(begin, end) for [0, items) divided into blocks of `block` items; the last block may be
  // shorter.
  template <class Body>
  void for_each(int64_t items, int64_t block, Body&& body) {
    PS_CHECK(kernels_ == nullptr);
    pool_.for_each(items, block, std::forward<Body>(body));
  }

 private:
  const CpuLevel cpu_;
  ThreadPool pool_;
  Device* const host_ = nullptr;  // null: this
  const std::shared_ptr<DeviceKernels> kernels_;
};

}  // namespace ps

#endif  // PS_MATH_DEVICE_H_
