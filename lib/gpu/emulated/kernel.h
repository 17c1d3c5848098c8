// The names that kernels use, for the emulator.  gpu/cuda/kernel.h has the same for CUDA; kernels get one of
// them through gpu/device.h and use no others.
//
// Each call first gives the scheduler a chance to run other threads.
#ifndef PS_GPU_EMULATED_KERNEL_H_
#define PS_GPU_EMULATED_KERNEL_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gpu/emulated/device_thread.h"
#include "gpu/shape.h"

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)

// An array of T in shared memory, one for each block, under `name`.
#define PS_SHARED_ARRAY(T, name, count) T* const name = ::ps::gpu::emulated::shared_array<T>(count, [] {})

// Before a loop of a fixed number of turns: unrolled on a device, so that arrays indexed there are in registers.
#define PS_UNROLL

namespace ps::gpu::emulated {

// The indices and extents of the running device thread.  Each thread of the process has its own.
extern thread_local constinit Extent thread_index, block_index, block_extent, grid_extent;

// The number of launches that have begun to run, the present one included.
extern thread_local constinit uint64_t num_launches;

// The primitives of the functions below.
void point_of_switching();
uint64_t meet_in_warp(WarpOperation operation, uint32_t mask, uint64_t value, unsigned from_lane);
void* shared_memory(const void* site, size_t bytes);
void* dynamic_shared_memory();

// `Site` is a type of its own at each line of the source that calls this.
template <class T, class Site>
T* shared_array(size_t count, Site) {
  static_assert(std::is_trivial_v<T>, "shared memory is not constructed");
  static const char site = 0;
  return static_cast<T*>(shared_memory(&site, count * sizeof(T)));
}

template <class T>
uint64_t to_bits(T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// The order of an operation that only reads, where another was asked for one that also writes.
constexpr int read_order(Order order) {
  return order == Order::kAcquire || order == Order::kAcquireRelease ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
}

constexpr int write_order(Order order) {
  return order == Order::kRelaxed   ? __ATOMIC_RELAXED
         : order == Order::kAcquire ? __ATOMIC_ACQUIRE
         : order == Order::kRelease ? __ATOMIC_RELEASE
                                    : __ATOMIC_ACQ_REL;
}

// *address = step(*address), returning what was there.
template <Order kOrder, class T, class Step>
T atomic_step(T* address, Step step) {
  point_of_switching();
  T before, after;
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  do {
    after = step(before);
  } while (
      !__atomic_compare_exchange(address, &before, &after, false, write_order(kOrder), read_order(kOrder)));
  return before;
}

}  // namespace ps::gpu::emulated

// Names that CUDA itself defines.
#define threadIdx ::ps::gpu::emulated::thread_index
#define blockIdx ::ps::gpu::emulated::block_index
#define blockDim ::ps::gpu::emulated::block_extent
#define gridDim ::ps::gpu::emulated::grid_extent

namespace ps::gpu {

// Waits until all threads of the block have called it.
void sync_block();

// The dynamic shared memory of the launch.
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(emulated::dynamic_shared_memory());
}

// Atomic operations on global or shared memory, by all threads of the device.
template <Order kOrder, class T>
T atomic_load(const T* address) {
  static_assert(kOrder == Order::kRelaxed || kOrder == Order::kAcquire);
  emulated::point_of_switching();
  T value;
  __atomic_load(address, &value, emulated::read_order(kOrder));
  return value;
}

template <Order kOrder, class T>
void atomic_store(T* address, std::type_identity_t<T> value) {
  static_assert(kOrder == Order::kRelaxed || kOrder == Order::kRelease);
  emulated::point_of_switching();
  __atomic_store(address, &value, emulated::write_order(kOrder));
}

// This and the following functions return the value before the operation.
template <Order kOrder, class T>
T atomic_exchange(T* address, std::type_identity_t<T> value) {
  emulated::point_of_switching();
  T before;
  __atomic_exchange(address, &value, &before, emulated::write_order(kOrder));
  return before;
}

// Writes `desired` if the value was `expected`.
template <Order kOrder, class T>
T atomic_compare_exchange(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  emulated::point_of_switching();
  __atomic_compare_exchange(address, &expected, &desired, false, emulated::write_order(kOrder),
                            emulated::read_order(kOrder));
  return expected;
}

template <Order kOrder, class T>
T atomic_add(T* address, std::type_identity_t<T> value) {
  return emulated::atomic_step<kOrder>(address, [value](T before) { return static_cast<T>(before + value); });
}

template <Order kOrder, class T>
T atomic_min(T* address, std::type_identity_t<T> value) {
  return emulated::atomic_step<kOrder>(address,
                                       [value](T before) { return value < before ? value : before; });
}

template <Order kOrder, class T>
T atomic_max(T* address, std::type_identity_t<T> value) {
  return emulated::atomic_step<kOrder>(address,
                                       [value](T before) { return before < value ? value : before; });
}

template <Order kOrder, class T>
T atomic_or(T* address, std::type_identity_t<T> value) {
  return emulated::atomic_step<kOrder>(address, [value](T before) { return static_cast<T>(before | value); });
}

template <Order kOrder, class T>
T atomic_and(T* address, std::type_identity_t<T> value) {
  return emulated::atomic_step<kOrder>(address, [value](T before) { return static_cast<T>(before & value); });
}

// The lane of this thread in its warp; threads of a block fill warps by x, then y, then z.
inline unsigned lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % kWarpSize;
}

// Operations of the lanes that `mask` names: each of them calls the same one with the same mask.
inline void sync_warp(uint32_t mask = kFullWarp) {
  emulated::meet_in_warp(emulated::WarpOperation::kSync, mask, 0, 0);
}

inline uint32_t ballot(uint32_t mask, bool vote) {
  return static_cast<uint32_t>(emulated::meet_in_warp(emulated::WarpOperation::kBallot, mask, vote, 0));
}

inline bool any(uint32_t mask, bool vote) {
  return emulated::meet_in_warp(emulated::WarpOperation::kAny, mask, vote, 0) != 0;
}

inline bool all(uint32_t mask, bool vote) {
  return emulated::meet_in_warp(emulated::WarpOperation::kAll, mask, vote, 0) != 0;
}

// Returns the value of lane `from`, which must be in the mask.
template <class T>
T shuffle(uint32_t mask, T value, unsigned from) {
  return emulated::from_bits<T>(emulated::meet_in_warp(emulated::WarpOperation::kShuffle, mask,
                                                       emulated::to_bits(value), from % kWarpSize));
}

template <class T>
T shuffle_xor(uint32_t mask, T value, unsigned bits) {
  return shuffle(mask, value, lane() ^ bits);
}

// Return the value of the lane `distance` above or below; the lane's own value where there is no such lane.
template <class T>
T shuffle_down(uint32_t mask, T value, unsigned distance) {
  return shuffle(mask, value, lane() + distance < kWarpSize ? lane() + distance : lane());
}

template <class T>
T shuffle_up(uint32_t mask, T value, unsigned distance) {
  return shuffle(mask, value, lane() >= distance ? lane() - distance : lane());
}

// Returns a mask of the lanes with the same value.
template <class T>
uint32_t match_any(uint32_t mask, T value) {
  return static_cast<uint32_t>(
      emulated::meet_in_warp(emulated::WarpOperation::kMatch, mask, emulated::to_bits(value), 0));
}

inline uint32_t reduce_add(uint32_t mask, uint32_t value) {
  return static_cast<uint32_t>(emulated::meet_in_warp(emulated::WarpOperation::kReduceAdd, mask, value, 0));
}

inline uint32_t reduce_min(uint32_t mask, uint32_t value) {
  return static_cast<uint32_t>(emulated::meet_in_warp(emulated::WarpOperation::kReduceMin, mask, value, 0));
}

inline uint32_t reduce_max(uint32_t mask, uint32_t value) {
  return static_cast<uint32_t>(emulated::meet_in_warp(emulated::WarpOperation::kReduceMax, mask, value, 0));
}

inline uint32_t reduce_and(uint32_t mask, uint32_t value) {
  return static_cast<uint32_t>(emulated::meet_in_warp(emulated::WarpOperation::kReduceAnd, mask, value, 0));
}

inline uint32_t reduce_or(uint32_t mask, uint32_t value) {
  return static_cast<uint32_t>(emulated::meet_in_warp(emulated::WarpOperation::kReduceOr, mask, value, 0));
}

// A copy of 4, 8 or 16 bytes from global to shared memory, which may happen at any time until this thread has
// waited for it.  commit_copies makes a group of those issued since the last; wait_copies waits for all
// groups but the `kLeft` newest.  Other threads see the copied bytes after a barrier.
void copy_async(void* shared, const void* global, unsigned bytes);
void commit_copies();
void wait_copies_but(int64_t left);

template <int kLeft>
void wait_copies() {
  wait_copies_but(kLeft);
}

// 0xff in each byte where x and y are equal, 0 elsewhere.
inline uint32_t equal_bytes(uint32_t x, uint32_t y) {
  uint32_t equal = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    if (((x ^ y) >> shift & 0xff) == 0) equal |= 0xffu << shift;
  }
  return equal;
}

inline int count_ones(uint32_t bits) {
  return std::popcount(bits);
}

// Returns the index of the lowest bit that is set; `bits` must not be 0.
inline unsigned lowest_bit(uint32_t bits) {
  return static_cast<unsigned>(std::countr_zero(bits));
}

}  // namespace ps::gpu

#endif  // PS_GPU_EMULATED_KERNEL_H_
