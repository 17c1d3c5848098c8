// DeviceKernels: a device with memory of its own, such as a GPU, as the kernels of math/ use it: its memory, and the
// loops that it runs there.  Implemented in lib/model/cuda, for CUDA and for the emulator; a Device has one.
//
// Work is queued, and runs in order; receive() and wait() return when all work before is done.  Errors of that work are
// thrown there.  One owner thread.
#ifndef PS_MATH_DEVICE_KERNELS_H_
#define PS_MATH_DEVICE_KERNELS_H_

#include <algorithm>
#include <cstdint>

#include "math/device.h"
#include "math/items/any_items.h"

namespace ps {

// A row-major matrix whose rows are contiguous.  If `transposed`, the factor is its transpose.
struct Factor {
  const float* data;
  int64_t cols;
  bool transposed = false;
};

// An array in memory of the host, and its copy on a device.
struct Upload {
  void *here, *there;
};

// The parts of a batch whose work a device may hold back.
enum class BatchPart { kForward, kBackward, kSteps };

class DeviceKernels {
 public:
  virtual ~DeviceKernels() = default;

  // Sizes are in bytes.  allocate throws kExhausted.
  virtual uint64_t free_bytes() const = 0;
  virtual void* allocate(uint64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;

  // Copies from memory of the host to that of the device, back, and within the device.  An array that is sent
  // must stay as it is until the next receive() or wait().
  virtual void send(void* to, const void* from, uint64_t bytes) = 0;
  virtual void receive(void* to, const void* from, uint64_t bytes) = 0;
  virtual void copy(void* to, const void* from, uint64_t bytes) = 0;
  virtual void wait() = 0;

  // upload returns room for an array of the batch: the caller fills `here`, in memory of the host, before it calls anything
  // else that queues work, and that work finds the array `there`, in memory of the device.  All arrays that are filled between
  // two pieces of work go there together.
  //
  // download queues a copy of an array of the device to memory of the host, and returns it; it is there after the next wait().
  //
  // mirror returns the copy on the device of an array of the host that stays as it is for the whole batch: it is sent once.
  //
  // All three are good until the next begin_batch(), which is called when the work of the last batch has been waited for.
  virtual Upload upload(uint64_t bytes) = 0;
  virtual const void* download(const void* from, uint64_t bytes) = 0;
  virtual const void* mirror(const void* host, uint64_t bytes) = 0;
  virtual void begin_batch() = 0;

  // Work that is queued between hold_work and start_work is held back until start_work, or until something waits for it or
  // allocates or releases memory.  Work that was the same before is then started by one call.  Nothing else may
  // queue work in the device's memory meanwhile.  A part that is other work in each batch is not held for long.
  virtual void hold_work(BatchPart part) = 0;
  virtual void start_work() = 0;

  // Calls body(i) for every item i in [0, items), at least one, on the device.
  virtual void run_items(int64_t items, const AnyItems& body) = 0;

  // out [m, n] += a [m, k] b [k, n]
  virtual void add_product(const Factor& a, const Factor& b, int64_t m, int64_t n, int64_t k, float* out) = 0;
};

// Runs items on a device with memory of its own.  Returns false if `device` is the processor.
template <class Body>
bool run_there(Device& device, int64_t items, const Body& body) {
  if constexpr (kRunsOnDevices<Body>) {
    if (device.kernels() == nullptr) return false;
    if (items > 0) device.kernels()->run_items(items, body);
    return true;
  }
  return false;
}

// Returns a pointer by which kernels of this device can read an array of the host, such as labels, that does
// not change while a batch is computed.  Returns null if the array is null, or if it is empty and the device has
// memory of its own.
template <class T>
const T* mirror(Device& device, const T* host, int64_t size) {
  if (device.kernels() == nullptr) return host;
  if (host == nullptr || size == 0) return nullptr;
  return static_cast<const T*>(device.kernels()->mirror(host, static_cast<uint64_t>(size) * sizeof(T)));
}

// Does the same for an array that may go or change as soon as this returns: it is sent each time.
template <class T>
const T* copy_there(Device& device, const T* host, int64_t size) {
  if (device.kernels() == nullptr || size == 0) return host;
  const Upload array = device.kernels()->upload(static_cast<uint64_t>(size) * sizeof(T));
  std::copy_n(host, size, static_cast<T*>(array.here));
  return static_cast<const T*>(array.there);
}

}  // namespace ps

#endif  // PS_MATH_DEVICE_KERNELS_H_
