#include "gpu/emulated/device_thread.h"

namespace ps::gpu::emulated {

namespace {

// The stack of one fibre.  Kernels have small frames, and pages that are never touched cost nothing.
constexpr size_t kStackBytes = 128 << 10;

thread_local constinit DeviceThread* running = nullptr;

}  // namespace

DeviceThread* running_thread() {
  return running;
}

// A race detector is to see what kernels order, and not in which turn their threads happen to run.
DeviceThread::DeviceThread() : fiber_(kStackBytes, SwitchOrder::kUnordered, [this] { live(); }) {}

void DeviceThread::abandon() {
  fiber_.restart();
  copies.clear();
}

void DeviceThread::resume(StackArea& scheduler) {
  running = this;
  fiber_.resume(scheduler);
  running = nullptr;
}

// The scheduler reads the request when the fibre has stopped, and resumes it when the request is answered.
void DeviceThread::suspend(Request what) {
  request = what;
  fiber_.suspend();
}

// Runs kernels, one after the other, and never ends.
void DeviceThread::live() {
  for (;;) {
    num_commits = 0;
    (*kernel)();
    if (!copies.empty()) {
      fault = "ends while its asynchronous copies are under way: wait for them";
      suspend(Request::kFault);
    }
    suspend(Request::kEnd);
  }
}

std::unique_ptr<DeviceThread> ThreadPool::take() {
  if (threads_.empty()) return std::make_unique<DeviceThread>();
  std::unique_ptr<DeviceThread> thread = std::move(threads_.back());
  threads_.pop_back();
  return thread;
}

}  // namespace ps::gpu::emulated
