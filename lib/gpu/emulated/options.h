// Options of an emulated device.  Used by Device of the emulator and by tests.
#ifndef PS_GPU_EMULATED_OPTIONS_H_
#define PS_GPU_EMULATED_OPTIONS_H_

#include <cstdint>

#include "gpu/shape.h"

namespace ps::gpu::emulated {

// Which thread runs next.  At points of switching (barriers, warp operations, atomics) another may.
enum class ScheduleOrder {
  kByLane,  // the first that can, as long as it can: fast
  kRandom,  // as the seed says
  kAlways,  // in turn, a switch at every point
};

// When the work of streams runs.
enum class StreamOrder {
  kInOrder,  // when a stream is waited for
  kRandom,   // as the seed says: at any call, streams interleaved
};

struct EmulatorOptions {
  uint64_t seed = 0;
  ScheduleOrder order = ScheduleOrder::kByLane;
  StreamOrder stream_order = StreamOrder::kInOrder;
  unsigned resident_blocks = 4;               // of a launch at a time
  uint64_t memory_bytes = uint64_t{1} << 32;  // of the device
  uint64_t max_steps = uint64_t{1} << 32;  // of a launch: turns of threads, after which it counts as endless
  DeviceLimits limits;
};

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_OPTIONS_H_
