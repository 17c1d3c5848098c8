// DeviceThread: one thread of a running kernel, a fibre on a pooled stack, and what it asks of the scheduler.
// Used by the names of kernels (gpu/emulated/kernel.h), which fill in a request and suspend, and by GridRun,
// which answers it.
//
// The side of the fibre does next to nothing: all that the threads share is touched by the scheduler alone,
// so that a race detector sees the kernel's own accesses and no others.
#ifndef PS_GPU_EMULATED_DEVICE_THREAD_H_
#define PS_GPU_EMULATED_DEVICE_THREAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/emulated/hooks.h"
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

// A warp operation as one lane calls it.
struct WarpCall {
  WarpOperation operation = WarpOperation::kSync;
  uint32_t mask = 0;
  uint64_t value = 0;
  unsigned from_lane = 0;  // of a shuffle
};

// An array of shared memory that a thread asks for.
struct SharedCall {
  const void* site = nullptr;  // a place in the source; one array a block each
  size_t bytes = 0;
};

// A copy that is under way until its thread waits for it.
struct AsyncCopy {
  void* to;
  const void* from;
  size_t bytes;
  int64_t group;  // numbered from 0 by commits; -1: not committed
};

struct BlockRun;

struct DeviceThread {
  DeviceThread();
  ~DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  const StackArea& stack() const { return stack_; }

  // Runs it until it asks for something.  Called by the scheduler, whose stack is `scheduler`.
  void resume(StackArea& scheduler);

  // Back to the scheduler, until resumed.  Called by the fibre.
  void suspend(Request what);

  // Makes the fibre new, its frames being lost: after an error.
  void abandon();

  // The whole life of a fibre, on its own stack.  `scheduler` is the context it was first resumed from.
  [[noreturn]] void live(void* scheduler);

  // Constant while a block runs on it.
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
  uint64_t answer = 0;             // of a warp operation
  void* shared = nullptr;          // the array asked for
  int64_t switch_points_left = 0;  // until it suspends at an atomic operation
  bool copies_early = false;       // asynchronous copies happen when they are issued

  // The fibre's own.
  std::vector<AsyncCopy> copies;
  int64_t num_commits = 0;

 private:
  void make_context();

  void* memory_;  // a guard page, then the stack
  StackArea stack_;
  void* context_ = nullptr;    // of the fibre, while it does not run
  void* scheduler_ = nullptr;  // of the scheduler, while the fibre runs
  StackArea* scheduler_stack_ = nullptr;
};

// Fibres that wait for a block.  They keep their stacks, so that the next launch finds them made.
class ThreadPool {
 public:
  std::unique_ptr<DeviceThread> take();
  void give(std::unique_ptr<DeviceThread> thread) { threads_.push_back(std::move(thread)); }

 private:
  std::vector<std::unique_ptr<DeviceThread>> threads_;
};

// The device thread that runs on this thread of the system; null on the host.
DeviceThread* running_thread();

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_DEVICE_THREAD_H_
