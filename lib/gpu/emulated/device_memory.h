// DeviceMemory: the memory of one emulated device.  It knows every array, so that a pointer to host memory is
// not mistaken for one to device memory, or the other way round.  Used by Device and Stream of the emulator;
// one thread owns it.
//
// Arrays lie on the heap between guard strips, which nothing may write to, and are filled with a pattern when
// they are allocated.  Under the address sanitizer, they may be touched between open and close only, which is
// while work of a stream runs.
#ifndef PS_GPU_EMULATED_DEVICE_MEMORY_H_
#define PS_GPU_EMULATED_DEVICE_MEMORY_H_

#include <cstdint>
#include <map>

#include "gpu/emulated/block_run.h"
#include "gpu/shape.h"

namespace ps::gpu::emulated {

class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t total_bytes) : total_bytes_(total_bytes) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // allocate throws kExhausted. release throws kInternal for memory that was not allocated here, and for an
  // array with an overwritten guard strip, which it releases all the same.
  void* allocate(uint64_t bytes);
  void release(void* memory);

  // Returns true if [data, data + bytes) lies in one array; if bytes is 0, the end of an array counts too.
  bool holds(const void* data, uint64_t bytes) const;

  // Returns true if any byte of [data, data + bytes) lies in an array.
  bool touches(const void* data, uint64_t bytes) const;

  // open lets work touch the arrays. close ends that, and throws kInternal if a guard strip was overwritten.
  void open() const;
  void close() const;

  DeviceMemoryInfo info() const { return {total_bytes_ - used_bytes_, total_bytes_}; }

 private:
  const GuardedArray* array_at(uintptr_t address) const;

  const uint64_t total_bytes_;
  uint64_t used_bytes_ = 0;
  std::map<uintptr_t, GuardedArray> arrays_;  // by their first address
};

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_DEVICE_MEMORY_H_
