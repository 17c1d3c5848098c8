// The names that kernels use, for CUDA: each is one device function or intrinsic. gpu/emulated/kernel.h
// documents them.
#ifndef PS_GPU_CUDA_KERNEL_H_
#define PS_GPU_CUDA_KERNEL_H_

#include <cuda_pipeline.h>

#include <cstdint>
#include <cuda/atomic>
#include <cuda/std/type_traits>

#include "gpu/shape.h"

#define PS_SHARED_ARRAY(T, name, count) __shared__ T name[count]
#define PS_UNROLL _Pragma("unroll")

namespace ps::gpu {

namespace cuda_internal {

template <class T>
using Shared = ::cuda::atomic_ref<T, ::cuda::thread_scope_device>;

template <class T>
using Same = ::cuda::std::type_identity_t<T>;

__device__ constexpr ::cuda::memory_order order_of(Order order) {
  return order == Order::kRelaxed   ? ::cuda::memory_order_relaxed
         : order == Order::kAcquire ? ::cuda::memory_order_acquire
         : order == Order::kRelease ? ::cuda::memory_order_release
                                    : ::cuda::memory_order_acq_rel;
}

}  // namespace cuda_internal

__device__ inline void sync_block() {
  __syncthreads();
}

template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes);
}

template <Order kOrder, class T>
__device__ T atomic_load(const T* address) {
  return cuda_internal::Shared<T>(*const_cast<T*>(address)).load(cuda_internal::order_of(kOrder));
}

template <Order kOrder, class T>
__device__ void atomic_store(T* address, cuda_internal::Same<T> value) {
  cuda_internal::Shared<T>(*address).store(value, cuda_internal::order_of(kOrder));
}

template <Order kOrder, class T>
__device__ T atomic_exchange(T* address, cuda_internal::Same<T> value) {
  return cuda_internal::Shared<T>(*address).exchange(value, cuda_internal::order_of(kOrder));
}

template <Order kOrder, class T>
__device__ T atomic_compare_exchange(T* address, cuda_internal::Same<T> expected,
                                     cuda_internal::Same<T> desired) {
  cuda_internal::Shared<T>(*address).compare_exchange_strong(expected, desired,
                                                             cuda_internal::order_of(kOrder));
  return expected;
}

template <Order kOrder, class T>
__device__ T atomic_add(T* address, cuda_internal::Same<T> value) {
  return cuda_internal::Shared<T>(*address).fetch_add(value, cuda_internal::order_of(kOrder));
}

template <Order kOrder, class T>
__device__ T atomic_min(T* address, cuda_internal::Same<T> value) {
  return cuda_internal::Shared<T>(*address).fetch_min(value, cuda_internal::order_of(kOrder));
}

template <Order kOrder, class T>
__device__ T atomic_max(T* address, cuda_internal::Same<T> value) {
  return cuda_internal::Shared<T>(*address).fetch_max(value, cuda_internal::order_of(kOrder));
}

template <Order kOrder, class T>
__device__ T atomic_or(T* address, cuda_internal::Same<T> value) {
  return cuda_internal::Shared<T>(*address).fetch_or(value, cuda_internal::order_of(kOrder));
}

template <Order kOrder, class T>
__device__ T atomic_and(T* address, cuda_internal::Same<T> value) {
  return cuda_internal::Shared<T>(*address).fetch_and(value, cuda_internal::order_of(kOrder));
}

__device__ inline unsigned lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % kWarpSize;
}

__device__ inline void sync_warp(uint32_t mask = kFullWarp) {
  __syncwarp(mask);
}

__device__ inline uint32_t ballot(uint32_t mask, bool vote) {
  return __ballot_sync(mask, vote);
}

__device__ inline bool any(uint32_t mask, bool vote) {
  return __any_sync(mask, vote) != 0;
}

__device__ inline bool all(uint32_t mask, bool vote) {
  return __all_sync(mask, vote) != 0;
}

template <class T>
__device__ T shuffle(uint32_t mask, T value, unsigned from) {
  return __shfl_sync(mask, value, static_cast<int>(from));
}

template <class T>
__device__ T shuffle_xor(uint32_t mask, T value, unsigned bits) {
  return __shfl_xor_sync(mask, value, static_cast<int>(bits));
}

template <class T>
__device__ T shuffle_down(uint32_t mask, T value, unsigned distance) {
  return __shfl_down_sync(mask, value, distance);
}

template <class T>
__device__ T shuffle_up(uint32_t mask, T value, unsigned distance) {
  return __shfl_up_sync(mask, value, distance);
}

template <class T>
__device__ uint32_t match_any(uint32_t mask, T value) {
  return __match_any_sync(mask, value);
}

__device__ inline uint32_t reduce_add(uint32_t mask, uint32_t value) {
  return __reduce_add_sync(mask, value);
}

__device__ inline uint32_t reduce_min(uint32_t mask, uint32_t value) {
  return __reduce_min_sync(mask, value);
}

__device__ inline uint32_t reduce_max(uint32_t mask, uint32_t value) {
  return __reduce_max_sync(mask, value);
}

__device__ inline uint32_t reduce_and(uint32_t mask, uint32_t value) {
  return __reduce_and_sync(mask, value);
}

__device__ inline uint32_t reduce_or(uint32_t mask, uint32_t value) {
  return __reduce_or_sync(mask, value);
}

__device__ inline void copy_async(void* shared, const void* global, unsigned bytes) {
  __pipeline_memcpy_async(shared, global, bytes);
}

__device__ inline void commit_copies() {
  __pipeline_commit();
}

template <int kLeft>
__device__ void wait_copies() {
  __pipeline_wait_prior(kLeft);
}

__device__ inline uint32_t equal_bytes(uint32_t x, uint32_t y) {
  return __vcmpeq4(x, y);
}

__device__ inline int count_ones(uint32_t bits) {
  return __popc(bits);
}

__device__ inline unsigned lowest_bit(uint32_t bits) {
  return static_cast<unsigned>(__ffs(static_cast<int>(bits)) - 1);
}

}  // namespace ps::gpu

#endif  // PS_GPU_CUDA_KERNEL_H_
