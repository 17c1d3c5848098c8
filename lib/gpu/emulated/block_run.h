// The state of the blocks that are resident while a launch runs: their warps, barriers and shared memory.
// Used by GridRun, which owns them; only the scheduler touches it.
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

// A meeting of the lanes in `mask` in one warp operation.  Each meeting is an object of its own, whose
// address is the synchronisation object of the race detector: so only the lanes that met are ordered by it.
struct Rendezvous {
  WarpOperation operation;
  uint32_t mask;
  uint32_t arrived = 0;
};

struct Warp {
  uint32_t alive = 0;  // lanes whose threads have not ended
  std::vector<std::unique_ptr<Rendezvous>> open;
};

// Heap memory between two guard strips, which nothing may write to.
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

  // Returns false if a write has changed a guard strip.  Always true under a sanitizer that watches the
  // strips itself.
  bool intact() const;

  // Frees the memory on behalf of a fibre; ~GuardedArray then does nothing.
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
  uint64_t number = 0;  // the linear index of the block
  unsigned num_threads = 0, num_alive = 0;
  std::vector<std::unique_ptr<DeviceThread>> threads;
  std::vector<Warp> warps;
  unsigned num_at_barrier = 0;
  std::unique_ptr<char> barrier;  // its address is the synchronisation object of the next barrier
  std::vector<SharedArray> shared;
};

std::string_view name_of(WarpOperation operation);

// Computes the answers to all lanes of a complete rendezvous.  `lanes`: the threads of the whole warp.
// Returns an error, or "".
std::string complete(const Rendezvous& rendezvous, std::unique_ptr<DeviceThread>* lanes);

// Lists the threads that wait and their operations: block, threads, operation, mask, arrived, alive.
std::string describe_waits(const std::vector<std::unique_ptr<BlockRun>>& blocks);

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_BLOCK_RUN_H_
