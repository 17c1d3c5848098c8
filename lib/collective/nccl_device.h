// NcclDevice: the device on which NCCL adds.  Used by NcclCommunicator; lib/device implements it for GPUs and
// for the emulator.
#ifndef PS_COLLECTIVE_NCCL_DEVICE_H_
#define PS_COLLECTIVE_NCCL_DEVICE_H_

#include <cstdint>

namespace ps {

// Work is queued and runs in order; receive and wait return when all earlier work is done.  One owner thread.
class NcclDevice {
 public:
  virtual ~NcclDevice() = default;

  // Sizes are in bytes.  allocate throws kExhausted.
  virtual void* allocate(uint64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;

  // Copies between the memory of the host and that of the device.  The source of send must not change until the
  // next receive or wait.
  virtual void send(void* to, const void* from, uint64_t bytes) = 0;
  virtual void receive(void* to, const void* from, uint64_t bytes) = 0;
  virtual void wait() = 0;

  // Returns the CUDA stream in which work is queued, after making its device the current one of this thread.
  // Returns null if the device is emulated.
  virtual void* stream() = 0;

  // Returns true if all work is done, including that which NCCL has queued.  Does not wait for a GPU.
  virtual bool is_done() = 0;
};

}  // namespace ps

#endif  // PS_COLLECTIVE_NCCL_DEVICE_H_
