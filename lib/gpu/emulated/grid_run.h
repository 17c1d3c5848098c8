// GridRun: the scheduler of one launch.  It runs the threads of a few resident blocks on fibres, in an order
// that a seed decides, and answers their requests.  Used by emulated streams.
//
// Only barriers, warp operations, the launch and its end order threads: a thread may run far ahead of the
// others of its warp, as on a device.
#ifndef PS_GPU_EMULATED_GRID_RUN_H_
#define PS_GPU_EMULATED_GRID_RUN_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/emulated/block_run.h"
#include "gpu/emulated/device_thread.h"
#include "gpu/emulated/options.h"
#include "gpu/shape.h"

namespace ps::gpu::emulated {

struct LaunchShape {
  Extent grid, block;
  uint32_t shared_bytes = 0;  // dynamic shared memory of a block
};

// Lives for one launch, on the thread of its device.
class GridRun {
 public:
  // `seed` is the seed of this launch.  Options and pool must outlive it.
  GridRun(const EmulatorOptions& options, uint64_t seed, ThreadPool& pool);
  ~GridRun();

  // Runs every thread of the grid to its end.  Throws kInternal for faults of the kernel: threads that wait
  // for each other for ever, wrong masks, writes past the end of shared memory.
  void run(const LaunchShape& shape, const std::function<void()>& kernel);

 private:
  uint64_t draw();
  bool in_random_order() const { return options_.order == ScheduleOrder::kRandom; }
  uint64_t next_block_number();
  void start_block();
  void start_thread(BlockRun& block, unsigned rank);
  void end_block(BlockRun& block);
  DeviceThread* next_ready();
  void step(DeviceThread& thread);
  void answer(DeviceThread& thread);
  void arrive_at_barrier(DeviceThread& thread);
  void arrive_in_warp(DeviceThread& thread);
  void complete_warp(BlockRun& block, size_t warp_index, size_t open_index);
  void give_shared(DeviceThread& thread);
  void end_thread(DeviceThread& thread);
  void give_back_all();
  [[noreturn]] void fail_launch(const std::string& why) const;
  [[noreturn]] void fail_thread(const DeviceThread& thread, const std::string& why) const;

  const EmulatorOptions& options_;
  const uint64_t seed_;
  ThreadPool& pool_;
  LaunchShape shape_;
  const std::function<void()>* kernel_ = nullptr;
  StackArea self_;    // the stack on which run was called
  StackArea reaper_;  // happens after the threads of ended blocks, and frees their shared memory
  std::vector<std::unique_ptr<BlockRun>> blocks_;  // resident
  std::deque<DeviceThread*> ready_;
  std::vector<uint32_t> block_order_;  // if the order is random: a permutation, shuffled as it is used
  uint64_t num_started_ = 0, num_drawn_ = 0, num_steps_ = 0;
  char end_ = 0;  // its address is the synchronisation object of the launch's end
};

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_GRID_RUN_H_
