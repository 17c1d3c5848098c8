// DeviceThread: one thread of a running kernel, which is a fibre on a pooled stack, with its request to the
// scheduler.  Used by the names of kernels (gpu/emulated/kernel.h), which fill in a request and suspend, and
// by GridRun, which answers it.
//
// Code on the fibre only writes a request: the scheduler alone touches state that threads share, so that a
// race detector sees the accesses of the kernel itself and no others.
#ifndef PS_GPU_EMULATED_DEVICE_THREAD_H_
#define PS_GPU_EMULATED_DEVICE_THREAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fiber/fiber.h"
#include "gpu/shape.h"

namespace ps::gpu::emulated {

enum class Request : uint8_t { kNone, kSwitch, kBarrier, kWarp, kShared, kDynamicShared, kEnd, kFault };

enum class WarpOperation : uint8_t {
  kSync,
  kBallot,
  kAny,
  kAll,
  kShuffle,
  kMatch,
  kReduceAdd,
  kReduceMin,
  kReduceMax,
  kReduceAnd,
  kReduceOr,
};

// The call of a warp operation by one lane.
struct WarpCall {
  WarpOperation operation = WarpOperation::kSync;
  uint32_t mask = 0;
  uint64_t value = 0;
  unsigned from_lane = 0;  // shuffles: the lane whose value is read
};

// The request of a thread for an array of shared memory.
struct SharedCall {
  const void* site = nullptr;  // a line of the source; one array a block each
  size_t bytes = 0;
};

// An asynchronous copy, which may happen at any time until its thread has waited for it.
struct AsyncCopy {
  void* to;
  const void* from;
  size_t bytes;
  int64_t group;  // numbered from 0 by commits; -1: not committed
};

struct BlockRun;

struct DeviceThread {
  DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  const StackArea& stack() const { return fiber_.stack(); }

  // Runs the fibre until it makes a request.  Called by the scheduler, whose stack is `scheduler`.
  void resume(StackArea& scheduler);

  // Switches to the scheduler with a request, and returns when the fibre is resumed.  Called on the fibre.
  void suspend(Request what);

  // Resets the fibre after an error, dropping its frames without unwinding them.
  void abandon();

  // Constant while the thread belongs to a block.
  const std::function<void()>* kernel = nullptr;
  BlockRun* block = nullptr;
  Extent index;       // threadIdx
  unsigned rank = 0;  // threads of a block are numbered by x, then y, then z

  // Written by the fibre before it suspends.
  Request request = Request::kNone;
  WarpCall warp_call;
  SharedCall shared_call;
  std::string fault;

  // Written by the scheduler before it resumes.
  uint64_t answer = 0;             // result of a warp operation
  void* shared = nullptr;          // the requested array
  int64_t switch_points_left = 0;  // atomic operations that it passes before it suspends at one
  bool copies_early = false;       // asynchronous copies happen when they are issued

  // Touched by the fibre alone.
  std::vector<AsyncCopy> copies;
  int64_t num_commits = 0;

 private:
  void live();

  Fiber fiber_;
};

// Idle fibres.  They keep their stacks for the next launch.
class ThreadPool {
 public:
  std::unique_ptr<DeviceThread> take();
  void give(std::unique_ptr<DeviceThread> thread) { threads_.push_back(std::move(thread)); }

 private:
  std::vector<std::unique_ptr<DeviceThread>> threads_;
};

// Returns the device thread that runs on this thread of the process; null outside kernels.
DeviceThread* running_thread();

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_DEVICE_THREAD_H_
