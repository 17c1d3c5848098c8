// NcclDevice: the device on which NCCL adds up.  Used by NcclCommunicator; implemented in lib/device, for GPUs and for the
// emulator.
#ifndef PS_COLLECTIVE_NCCL_DEVICE_H_
#define PS_COLLECTIVE_NCCL_DEVICE_H_

#include <cstdint>

namespace ps {

// Work is queued, and runs in order; receive and wait return when all work before is done.  One owner thread.
class NcclDevice {
 public:
  virtual ~NcclDevice() = default;

  // Sizes are in bytes.  allocate throws kExhausted.
  virtual void* allocate(uint64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;

  // From memory of the host to that of the device, and back.  Bytes that are sent must not change until the next receive or
  // wait.
  virtual void send(void* to, const void* from, uint64_t bytes) = 0;
  virtual void receive(void* to, const void* from, uint64_t bytes) = 0;
  virtual void wait() = 0;

  // The CUDA stream in which work is queued, of the device that this makes the thread's; null: the device is emulated.
  virtual void* stream() = 0;

  // True when the work is done, that which NCCL has queued too.  Does not wait for a GPU.
  virtual bool is_done() = 0;
};

}  // namespace ps

#endif  // PS_COLLECTIVE_NCCL_DEVICE_H_
