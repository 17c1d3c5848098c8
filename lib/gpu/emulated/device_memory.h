// DeviceMemory: the memory of one emulated device.  It knows every array, so that the host's pointers and a
// device's are not taken for each other.  Used by Device and Stream of the emulator; one thread owns it.
//
// Arrays lie on the heap between strips that nothing may write to, and hold a pattern until they are written.
// Under the address sanitizer they may be touched between open and close alone: while work of a stream runs.
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

  // allocate throws kExhausted; release kInternal, for what was not allocated here or was written past an
  // end.
  void* allocate(uint64_t bytes);
  void release(void* memory);

  // True where [data, data + bytes) lies in one array; a pointer to an end counts where bytes is 0.
  bool holds(const void* data, uint64_t bytes) const;

  // True where any of it lies in an array.
  bool touches(const void* data, uint64_t bytes) const;

  // Let work touch the arrays.  close throws kInternal where one was written past an end.
  void open() const;
  void close() const;

  DeviceMemoryInfo info() const { return {total_bytes_ - used_bytes_, total_bytes_}; }

 private:
  const GuardedArray* array_at(uintptr_t address) const;

  const uint64_t total_bytes_;
  uint64_t used_bytes_ = 0;
  std::map<uintptr_t, GuardedArray> arrays_;  // by where they begin
};

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_DEVICE_MEMORY_H_
