#include "gpu/emulated/kernel.h"

#include "base/error.h"

namespace ps::gpu {

namespace emulated {

thread_local constinit Extent thread_index, block_index, block_extent, grid_extent;
thread_local constinit uint64_t num_launches = 0;

namespace {

// Returns the running device thread.  There is none if a function for kernels was called on the host.
DeviceThread& this_thread() {
  DeviceThread* thread = running_thread();
  PS_CHECK(thread != nullptr);
  return *thread;
}

[[noreturn]] void fault(DeviceThread& thread, std::string_view what) {
  thread.fault = what;
  thread.suspend(Request::kFault);
  abort_check(__FILE__, __LINE__, "a thread went on after its fault");
}

// Carries out the copies of groups below `end`.
void carry_out(DeviceThread& thread, int64_t end) {
  std::erase_if(thread.copies, [end](const AsyncCopy& copy) {
    if (copy.group < 0 || copy.group >= end) return false;
    std::memcpy(copy.to, copy.from, copy.bytes);
    return true;
  });
}

}  // namespace

// Atomic operations call it, so that a thread that spins on one lets others run.
void point_of_switching() {
  DeviceThread& thread = this_thread();
  if (--thread.switch_points_left < 0) thread.suspend(Request::kSwitch);
}

uint64_t meet_in_warp(WarpOperation operation, uint32_t mask, uint64_t value, unsigned from_lane) {
  DeviceThread& thread = this_thread();
  thread.warp_call = {operation, mask, value, from_lane};
  thread.suspend(Request::kWarp);
  return thread.answer;
}

void* shared_memory(const void* site, size_t bytes) {
  DeviceThread& thread = this_thread();
  thread.shared_call = {site, bytes};
  thread.suspend(Request::kShared);
  return thread.shared;
}

void* dynamic_shared_memory() {
  DeviceThread& thread = this_thread();
  thread.suspend(Request::kDynamicShared);
  return thread.shared;
}

}  // namespace emulated

void sync_block() {
  emulated::this_thread().suspend(emulated::Request::kBarrier);
}

void copy_async(void* shared, const void* global, unsigned bytes) {
  emulated::DeviceThread& thread = emulated::this_thread();
  const auto misaligned = [bytes](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % bytes != 0;
  };
  if (bytes != 4 && bytes != 8 && bytes != 16)
    emulated::fault(thread, "copies neither 4, 8 nor 16 bytes asynchronously");
  if (misaligned(shared) || misaligned(global))
    emulated::fault(thread, "copies asynchronously from or to a place that is not aligned");
  // A device may copy at once or as late as the wait.  The scheduler chooses between both, and a kernel
  // that reads too early or changes the source too early gets wrong numbers in one of them.
  if (thread.copies_early) std::memcpy(shared, global, bytes);
  thread.copies.push_back({shared, global, bytes, -1});
}

void commit_copies() {
  emulated::DeviceThread& thread = emulated::this_thread();
  const int64_t group = thread.num_commits++;
  for (emulated::AsyncCopy& copy : thread.copies) {
    if (copy.group < 0) copy.group = group;
  }
}

// All groups but the last `left` ones are complete afterwards.  Copies that were made early are made again,
// with the bytes that the source has now.
void wait_copies_but(int64_t left) {
  emulated::DeviceThread& thread = emulated::this_thread();
  emulated::carry_out(thread, thread.num_commits - left);
}

}  // namespace ps::gpu
