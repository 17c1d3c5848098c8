// The blocks that are resident while a launch runs, with their warps, barriers and shared memory.  Used by
// GridRun, which owns them; plain state, touched by the scheduler alone.
#ifndef PS_GPU_EMULATED_BLOCK_RUN_H_
#define PS_GPU_EMULATED_BLOCK_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/emulated/device_thread.h"

namespace ps::gpu::emulated {

// Lanes that wait for each other: those that `mask` names, all in the same operation.  One object for each
// generation, so that nothing is ordered but those who met; its address is what a race detector knows it by.
struct Rendezvous {
  WarpOperation operation;
  uint32_t mask;
  uint32_t arrived = 0;
};

struct Warp {
  uint32_t alive = 0;  // lanes that have not ended
  std::vector<std::unique_ptr<Rendezvous>> open;
};

// Heap memory between two strips that nothing may write to.
class GuardedArray {
 public:
  // Throws kExhausted.
  explicit GuardedArray(size_t bytes);
  GuardedArray(GuardedArray&& other) noexcept
      : bytes_(other.bytes_), padded_(other.padded_), memory_(std::exchange(other.memory_, nullptr)) {}
  GuardedArray& operator=(GuardedArray&&) = delete;
  ~GuardedArray();

  void* data() const { return memory_ + kStrip; }
  size_t bytes() const { return bytes_; }

  // True unless a write went past an end.  Where a sanitizer watches the strips, always.
  bool intact() const;

  // Frees it in the name of a fibre: ~GuardedArray then has nothing to do.
  void free_as(const StackArea& fiber, const StackArea& self);

  static constexpr size_t kStrip = 256;         // bytes, and the alignment of the array
  static constexpr unsigned char kFill = 0xcb;  // what an array holds before it is written to

 private:
  size_t bytes_, padded_ = 0;
  unsigned char* memory_ = nullptr;
};

struct SharedArray {
  const void* site;
  GuardedArray array;
};

struct BlockRun {
  Extent index;
  uint64_t number = 0;  // the same as one number
  unsigned num_threads = 0, num_alive = 0;
  std::vector<std::unique_ptr<DeviceThread>> threads;
  std::vector<Warp> warps;
  unsigned num_at_barrier = 0;
  std::unique_ptr<char> barrier;  // the address of this generation
  std::vector<SharedArray> shared;
};

std::string_view name_of(WarpOperation operation);

// Answers to all lanes of a rendezvous that is complete.  threads: of the whole warp.  Returns an error, or
// "".
std::string complete(const Rendezvous& rendezvous, std::unique_ptr<DeviceThread>* lanes);

// Lists who waits for what: block, threads, operation, mask, arrived, alive.
std::string describe_waits(const std::vector<std::unique_ptr<BlockRun>>& blocks);

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_BLOCK_RUN_H_
