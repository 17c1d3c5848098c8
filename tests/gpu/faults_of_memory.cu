// Faults of memory: ends, what is not written yet, copies that are under way.
#include <vector>

#include "gpu/counting.h"
#include "gpu/device_data.h"
#include "gpu/scenario.h"

namespace ps {

namespace {

constexpr unsigned kThreads = 32;

template <bool kFaulty>
__global__ void add_one(const int* in, int* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (kFaulty ? i <= n : i < n) out[i] = in[i < n ? i : 0] + 1;
}

bool write_past_an_end(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(45);
  auto in = upload(stream, values), out = filled<int>(stream, 45, 0);
  gpu::launch(faulty ? add_one<true> : add_one<false>, 2, kThreads, 0, stream, in.data(), out.data(), 45u);
  return download(stream, out)[44] == 46;
}

template <bool kFaulty>
__global__ void look_ahead(const int* in, int* out, unsigned n) {
  const unsigned i = threadIdx.x;
  if (i >= n) return;
  const int next = kFaulty || i + 1 < n ? in[i + 1] : 0;
  out[i] = next == 0x7fffffff ? 0 : in[i];
}

bool read_past_an_end(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(30);
  auto in = upload(stream, values), out = filled<int>(stream, 30, 0);
  gpu::launch(faulty ? look_ahead<true> : look_ahead<false>, 1, kThreads, 0, stream, in.data(), out.data(),
              30u);
  return download(stream, out)[29] == 30;
}

template <bool kFaulty>
__global__ void shift_in_shared(const int* in, int* out) {
  PS_SHARED_ARRAY(int, part, kFaulty ? kThreads : kThreads + 1);
  part[threadIdx.x + 1] = in[threadIdx.x];
  gpu::sync_block();
  out[threadIdx.x] = part[threadIdx.x + 1];
}

bool write_past_shared_memory(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(kThreads);
  auto in = upload(stream, values), out = filled<int>(stream, kThreads, 0);
  gpu::launch(faulty ? shift_in_shared<true> : shift_in_shared<false>, 1, kThreads, 0, stream, in.data(),
              out.data());
  return download(stream, out) == values;
}

template <bool kFaulty>
__global__ void read_dynamic(const int* in, int* out) {
  int* part = gpu::dynamic_shared<int>();
  part[threadIdx.x] = in[threadIdx.x];
  gpu::sync_block();
  const int beyond = part[kFaulty ? threadIdx.x + 1 : threadIdx.x];
  out[threadIdx.x] = beyond == 0x7fffffff ? 0 : part[threadIdx.x];
}

bool read_past_shared_memory(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(kThreads);
  auto in = upload(stream, values), out = filled<int>(stream, kThreads, 0);
  gpu::launch(faulty ? read_dynamic<true> : read_dynamic<false>, 1, kThreads, kThreads * sizeof(int), stream,
              in.data(), out.data());
  return download(stream, out) == values;
}

// Counts what is below 10 into memory that must be zero before.
__global__ void count_small(const int* in, unsigned n, int* count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] < 10) gpu::atomic_add<gpu::Order::kRelaxed>(count, 1);
}

bool memory_taken_for_zero(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(60);
  auto in = upload(stream, values);
  gpu::DeviceArray<int> count(device, 1);
  if (!faulty) stream.fill(count.data(), 0, count.bytes());
  gpu::launch(count_small, 2, kThreads, 0, stream, in.data(), 60u, count.data());
  return download(stream, count)[0] == 9;
}

enum class Copying { kRight, kNoWait, kNoCommit, kWaitForTooFew, kNoBarrier };

// Two parts come asynchronously, and each thread adds what another thread brought.
template <Copying kCopying>
__global__ void add_parts(const int* in, int* out) {
  PS_SHARED_ARRAY(int, parts, 2 * kThreads);
  const unsigned i = threadIdx.x, across = kThreads - 1 - i;
  gpu::copy_async(&parts[i], &in[i], sizeof(int));
  gpu::commit_copies();
  gpu::copy_async(&parts[kThreads + i], &in[kThreads + i], sizeof(int));
  if constexpr (kCopying != Copying::kNoCommit) gpu::commit_copies();
  if constexpr (kCopying == Copying::kWaitForTooFew) {
    gpu::wait_copies<1>();
  } else if constexpr (kCopying != Copying::kNoWait) {
    gpu::wait_copies<0>();
  }
  if constexpr (kCopying != Copying::kNoBarrier) gpu::sync_block();
  out[i] = parts[across] + parts[kThreads + across];
  gpu::sync_block();
  gpu::commit_copies();
  gpu::wait_copies<0>();
}

template <Copying kFault>
bool copy_parts(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(2 * kThreads);
  auto in = upload(stream, values), out = filled<int>(stream, kThreads, 0);
  gpu::launch(faulty ? add_parts<kFault> : add_parts<Copying::kRight>, 1, kThreads, 0, stream, in.data(),
              out.data());
  const std::vector<int> found = download(stream, out);
  for (int i = 0; i < 32; ++i) {
    if (found[static_cast<size_t>(i)] != 32 - i + 64 - i) return false;
  }
  return true;
}

template <bool kFaulty>
__global__ void copy_and_end(const int* in, int* out) {
  PS_SHARED_ARRAY(int, part, kThreads);
  gpu::copy_async(&part[threadIdx.x], &in[threadIdx.x], sizeof(int));
  gpu::commit_copies();
  if constexpr (!kFaulty) gpu::wait_copies<0>();
  out[threadIdx.x] = in[threadIdx.x];
}

bool copies_under_way_at_the_end(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(kThreads);
  auto in = upload(stream, values), out = filled<int>(stream, kThreads, 0);
  gpu::launch(faulty ? copy_and_end<true> : copy_and_end<false>, 1, kThreads, 0, stream, in.data(),
              out.data());
  return download(stream, out) == values;
}

template <bool kFaulty>
__global__ void copy_fours(const int* in, int* out) {
  PS_SHARED_ARRAY(int, part, 4 * kThreads + 4);
  int* const begin = part + (kFaulty ? 1 : 0);
  gpu::copy_async(&begin[4 * threadIdx.x], &in[4 * threadIdx.x], 16);
  gpu::commit_copies();
  gpu::wait_copies<0>();
  for (unsigned i = 4 * threadIdx.x; i < 4 * threadIdx.x + 4; ++i) out[i] = begin[i];
}

bool misaligned_copy(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(4 * kThreads);
  auto in = upload(stream, values), out = filled<int>(stream, 4 * kThreads, 0);
  gpu::launch(faulty ? copy_fours<true> : copy_fours<false>, 1, kThreads, 0, stream, in.data(), out.data());
  return download(stream, out) == values;
}

constexpr Scenario kScenarios[] = {
    {"write_past_an_end", write_past_an_end, kPastEnd, kPoisoned, kPastEnd},
    {"read_past_an_end", read_past_an_end, nullptr, kPoisoned, nullptr},
    {"write_past_shared_memory", write_past_shared_memory, kPastEnd, kPoisoned, kPastEnd},
    {"read_past_shared_memory", read_past_shared_memory, nullptr, kPoisoned, nullptr},
    {"memory_taken_for_zero", memory_taken_for_zero, kWrong, kWrong, kWrong},
    {"missing_wait", copy_parts<Copying::kNoWait>, kWrong, kWrong, "data race|wrong result"},
    {"missing_commit", copy_parts<Copying::kNoCommit>, kWrong, kWrong, "data race|wrong result"},
    {"wait_for_too_few", copy_parts<Copying::kWaitForTooFew>, kWrong, kWrong, "data race|wrong result"},
    {"no_barrier_after_a_wait", copy_parts<Copying::kNoBarrier>, kWrong, kWrong, kRace},
    {"copies_under_way_at_the_end", copies_under_way_at_the_end, "asynchronous copies are under way",
     "under way", "under way"},
    {"misaligned_copy", misaligned_copy, "is not aligned", "is not aligned", "is not aligned"},
};

}  // namespace

std::span<const Scenario> faults_of_memory() {
  return kScenarios;
}

}  // namespace ps
