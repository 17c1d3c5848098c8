// Functions by which kernels of DeviceTable find and copy rows.  Used by the other headers of its kernels.
// All lanes of a warp work together on one item, which is a run of equal keys or a bucket, or on 32 items,
// one a lane; the lanes then represent the slots of a bucket, or parts of rows.  So each warp has loads of
// several look-ups and rows under way at the same time, which random access needs.
#ifndef PS_TABLE_CUDA_ROW_ACCESS_H_
#define PS_TABLE_CUDA_ROW_ACCESS_H_

#include "base/hash.h"
#include "gpu/device.h"
#include "table/cuda/device_rows.h"

namespace ps::device_table {

inline namespace PS_GPU_NAMESPACE {

using gpu::kFullWarp;
using gpu::Order;

constexpr uint32_t kLanes = gpu::kWarpSize;

__device__ inline uint32_t thread_index() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline uint32_t warp_index() {
  return thread_index() / kLanes;
}

__device__ inline uint32_t bucket_of(const Rows& rows, uint64_t hash) {
  return bucket_of_hash(hash, rows.num_buckets);
}

__device__ inline float* row_at(const Rows& rows, uint32_t slot) {
  return rows.rows + static_cast<uint64_t>(slot) * rows.stride;
}

__device__ inline void add_count(uint64_t* count, uint64_t amount) {
  if (amount != 0) gpu::atomic_add<Order::kRelaxed>(count, amount);
}

// Returns in each lane the slot of the lane's key, or kNoSlot if it has none.  The first `count` lanes have
// keys.
__device__ inline uint32_t find_slots(const Rows& rows, uint64_t key, uint32_t count) {
  constexpr uint32_t kAhead = 4;  // buckets whose keys are loaded at the same time
  const uint32_t lane = gpu::lane();
  const uint32_t bucket = lane < count ? bucket_of(rows, hash_key(key)) : 0;
  uint32_t slot = kNoSlot;
  for (uint32_t first = 0; first < count; first += kAhead) {
    uint64_t there[kAhead];
    uint32_t taken[kAhead];
    for (uint32_t n = 0; n < kAhead; ++n) {
      const uint32_t from = gpu::shuffle(kFullWarp, bucket, first + n);
      there[n] = rows.keys[from * kSlots + lane];
      taken[n] = rows.taken[from];
    }
    for (uint32_t n = 0; n < kAhead; ++n) {
      const uint64_t wanted = gpu::shuffle(kFullWarp, key, first + n);
      const uint32_t here = gpu::ballot(kFullWarp, (taken[n] >> lane & 1) != 0 && there[n] == wanted);
      if (lane == first + n && lane < count && here != 0) slot = bucket * kSlots + gpu::lowest_bit(here);
    }
  }
  return slot;
}

// The floats that are read and written at once.
template <int kFloats>
struct alignas(kFloats * sizeof(float)) Floats {
  float values[kFloats];
};

// Copies rows as copy_rows does, with `units` units a row. convert(unit, lane, number) returns the value to
// write for a unit that was read, where `lane` gave the row and `number` is the unit's number; all lanes call
// it together.
template <class Out, class Unit, class Convert>
__device__ void copy_units(Out* to, const Unit* from, uint32_t units, const Convert& convert) {
  constexpr uint32_t kAhead = sizeof(Out) > 16 ? 2 : 4;  // loads under way at the same time in each lane
  const uintptr_t from_address = reinterpret_cast<uintptr_t>(from),
                  to_address = reinterpret_cast<uintptr_t>(to);
  for (uint32_t first = 0; first < units; first += kAhead) {
    Unit loaded[kAhead];
    uintptr_t targets[kAhead];  // addresses, or 0
    PS_UNROLL for (uint32_t n = 0; n < kAhead; ++n) {
      // Neighbouring lanes copy neighbouring units: unit i % units of the row that lane i / units gave.
      const uint32_t i = (first + n) * kLanes + gpu::lane(), row = i / units, unit = i - row * units;
      const uintptr_t source = gpu::shuffle(kFullWarp, from_address, row);
      const uintptr_t target = gpu::shuffle(kFullWarp, to_address, row);
      const bool copies = first + n < units && target != 0;
      targets[n] = copies ? target + unit * sizeof(Out) : 0;
      loaded[n] = copies && source != 0 ? reinterpret_cast<const Unit*>(source)[unit] : Unit{};
    }
    PS_UNROLL for (uint32_t n = 0; n < kAhead; ++n) {
      const uint32_t i = (first + n) * kLanes + gpu::lane(), row = i / units;
      const Out converted = convert(loaded[n], row, i - row * units);
      if (targets[n] != 0) *reinterpret_cast<Out*>(targets[n]) = converted;
    }
  }
}

template <class Unit>
__device__ void copy_units(Unit* to, const Unit* from, uint32_t units) {
  copy_units(to, from, units, [](Unit unit, uint32_t, uint32_t) { return unit; });
}

// Each lane gives a row of `count` floats and its destination; all lanes copy all rows together.  Zeros are
// written if `from` is null, and nothing is written if `to` is null.
__device__ inline void copy_rows(float* to, const float* from, uint32_t count) {
  if (!gpu::any(kFullWarp, to != nullptr)) return;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (count % 4 == 0 && gpu::all(kFullWarp, bits % 16 == 0)) {
    copy_units(reinterpret_cast<Floats<4>*>(to), reinterpret_cast<const Floats<4>*>(from), count / 4);
  } else if (count % 2 == 0 && gpu::all(kFullWarp, bits % 8 == 0)) {
    copy_units(reinterpret_cast<Floats<2>*>(to), reinterpret_cast<const Floats<2>*>(from), count / 2);
  } else {
    copy_units(to, from, count);
  }
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::device_table

#endif  // PS_TABLE_CUDA_ROW_ACCESS_H_
