// Options of an emulated device.  Used by Device of the emulator and by tests.
#ifndef PS_GPU_EMULATED_OPTIONS_H_
#define PS_GPU_EMULATED_OPTIONS_H_

#include <cstdint>
#include <functional>

#include "gpu/shape.h"

namespace ps::gpu::emulated {

// The order in which threads run.  The scheduler may switch to another thread at barriers, warp operations
// and atomic operations.
enum class ScheduleOrder {
  kByLane,  // the first ready thread, for as long as it can run: fast
  kRandom,  // random, from the seed
  kAlways,  // in turn, a switch at every point
};

// The time at which the work of streams runs.
enum class StreamOrder {
  kInOrder,  // when a stream is waited for
  kRandom,   // random, from the seed: at any call, streams interleaved
};

struct EmulatorOptions {
  uint64_t seed = 0;
  ScheduleOrder order = ScheduleOrder::kByLane;
  StreamOrder stream_order = StreamOrder::kInOrder;
  unsigned resident_blocks = 4;               // blocks of a launch that run at the same time
  uint64_t memory_bytes = uint64_t{1} << 32;  // memory of the device
  uint64_t max_steps = uint64_t{1} << 32;  // of a launch: turns of threads, after which it counts as endless
  DeviceLimits limits;
  std::function<void()> on_wait = {};  // called when the host begins to wait for work of the device
};

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_OPTIONS_H_
