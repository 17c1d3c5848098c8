// Plain types that device code and its callers share: shapes of a launch, orders of atomics, limits of a
// device. Used by both halves of gpu/device.h, the one for CUDA and the one for the emulator.
#ifndef PS_GPU_SHAPE_H_
#define PS_GPU_SHAPE_H_

#include <cstdint>

namespace ps::gpu {

constexpr int kWarpSize = 32;
constexpr uint32_t kFullWarp = 0xffffffff;  // the mask of all lanes

// The size of a grid in blocks, or of a block in threads; also the index of a block or a thread.
struct Extent {
  unsigned x = 1, y = 1, z = 1;

  constexpr Extent() = default;
  constexpr Extent(unsigned width, unsigned height = 1, unsigned depth = 1)  // NOLINT: a number is a width
      : x(width), y(height), z(depth) {}

  constexpr uint64_t count() const { return uint64_t{x} * y * z; }
};

// The memory order of an atomic operation.  There are no fences: a thread publishes data by a release, and
// others read them after an acquire of the same word.  Race detectors understand this pattern, but not
// fences.
enum class Order { kRelaxed, kAcquire, kRelease, kAcquireRelease };

// Limits against which launches are checked, those of compute capability 9.0; and the size of the device.
struct DeviceLimits {
  unsigned threads_per_block = 1024;
  Extent block{1024, 1024, 64};
  Extent grid{0x7fffffff, 65535, 65535};
  uint32_t shared_bytes = 227 << 10;  // of a block
  uint32_t resident_threads = 512;    // threads that run at the same time: more in a grid gain nothing
};

struct DeviceMemoryInfo {
  uint64_t free_bytes, total_bytes;
};

// Returns the number of blocks of `threads` threads for one thread an item; at least one block, since an
// empty grid is an error.
constexpr unsigned blocks_for(uint64_t items, unsigned threads) {
  return items == 0 ? 1 : static_cast<unsigned>((items + threads - 1) / threads);
}

}  // namespace ps::gpu

#endif  // PS_GPU_SHAPE_H_
