// Faults between the threads of a block, and between blocks: barriers and atomics.
#include <algorithm>
#include <numeric>
#include <vector>

#include "gpu/device_data.h"
#include "gpu/scenario.h"

namespace ps {

namespace {

using gpu::Order;

constexpr unsigned kThreads = 64;

std::vector<int> counting(int n) {
  std::vector<int> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

// Each block turns its part around.
template <bool kFaulty>
__global__ void turn_around(const int* in, int* out) {
  PS_SHARED_ARRAY(int, part, kThreads);
  const unsigned begin = blockIdx.x * kThreads;
  part[threadIdx.x] = in[begin + threadIdx.x];
  if constexpr (!kFaulty) gpu::sync_block();
  out[begin + threadIdx.x] = part[kThreads - 1 - threadIdx.x];
}

bool dropped_barrier(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(2 * kThreads);
  auto in = upload(stream, values), out = filled<int>(stream, in.size(), 0);
  gpu::launch(faulty ? turn_around<true> : turn_around<false>, 2, kThreads, 0, stream, in.data(), out.data());
  std::vector<int> expected = values;
  std::reverse(expected.begin(), expected.begin() + kThreads);
  std::reverse(expected.begin() + kThreads, expected.end());
  return download(stream, out) == expected;
}

// Sums of all that came before, in steps of doubled distance.
template <bool kFaulty>
__global__ void add_before(int* values) {
  PS_SHARED_ARRAY(int, sums, kThreads);
  sums[threadIdx.x] = values[threadIdx.x];
  gpu::sync_block();
  for (unsigned distance = 1; distance < kThreads; distance *= 2) {
    const int other = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    if constexpr (!kFaulty) gpu::sync_block();
    sums[threadIdx.x] += other;
    gpu::sync_block();
  }
  values[threadIdx.x] = sums[threadIdx.x];
}

bool write_before_all_have_read(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  std::vector<int> values = counting(kThreads);
  auto sums = upload(stream, values);
  gpu::launch(faulty ? add_before<true> : add_before<false>, 1, kThreads, 0, stream, sums.data());
  const std::vector<int> found = download(stream, sums);
  std::partial_sum(values.begin(), values.end(), values.begin());
  return found == values;
}

template <bool kFaulty>
__global__ void copy_first(const int* in, int* out, unsigned n) {
  PS_SHARED_ARRAY(int, first, 1);
  if (threadIdx.x == 0) first[0] = in[0];
  if (!kFaulty || threadIdx.x < n) gpu::sync_block();
  if (threadIdx.x < n) out[threadIdx.x] = first[0];
}

bool barrier_in_a_branch(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = {7};
  auto in = upload(stream, values), out = filled<int>(stream, 40, 0);
  gpu::launch(faulty ? copy_first<true> : copy_first<false>, 1, kThreads, 0, stream, in.data(), out.data(),
              40u);
  return download(stream, out) == std::vector<int>(40, 7);
}

template <bool kFaulty>
__global__ void copy_next(const int* in, int* out, unsigned n) {
  PS_SHARED_ARRAY(int, part, kThreads);
  if (kFaulty && threadIdx.x >= n) return;
  if (threadIdx.x < n) part[threadIdx.x] = in[threadIdx.x];
  gpu::sync_block();
  if (threadIdx.x < n) out[threadIdx.x] = part[(threadIdx.x + 1) % n];
}

bool return_before_a_barrier(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(50);
  auto in = upload(stream, values), out = filled<int>(stream, 50, 0);
  gpu::launch(faulty ? copy_next<true> : copy_next<false>, 1, kThreads, 0, stream, in.data(), out.data(),
              50u);
  std::vector<int> expected = values;
  std::rotate(expected.begin(), expected.begin() + 1, expected.end());
  return download(stream, out) == expected;
}

enum class Claim { kCompareExchange, kStore, kPlain };

// Puts each key into a slot of its own, from a place that all keys share on.  0 is an empty slot.
template <Claim kClaim>
__global__ void insert_keys(unsigned* slots, unsigned num_slots, unsigned num_keys) {
  const unsigned key = blockIdx.x * blockDim.x + threadIdx.x + 1;
  if (key > num_keys) return;
  for (unsigned i = 0; i < num_slots; ++i) {
    if constexpr (kClaim == Claim::kCompareExchange) {
      if (gpu::atomic_compare_exchange<Order::kRelaxed>(&slots[i], 0, key) == 0) return;
    } else if constexpr (kClaim == Claim::kStore) {
      if (gpu::atomic_load<Order::kRelaxed>(&slots[i]) != 0) continue;
      gpu::atomic_store<Order::kRelaxed>(&slots[i], key);
      return;
    } else {
      if (slots[i] != 0) continue;
      slots[i] = key;
      return;
    }
  }
}

template <Claim kFault>
bool insert_all(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  auto slots = filled<unsigned>(stream, 96, 0);
  gpu::launch(faulty ? insert_keys<kFault> : insert_keys<Claim::kCompareExchange>, 3, 32, 0, stream,
              slots.data(), 96u, 90u);
  std::vector<unsigned> found = download(stream, slots);
  std::sort(found.begin(), found.end());
  for (unsigned i = 0; i < 96; ++i) {
    if (found[i] != (i < 6 ? 0 : i - 5)) return false;
  }
  return true;
}

template <bool kFaulty>
__global__ void count_even(const int* values, int n, int* count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n || values[i] % 2 != 0) return;
  if constexpr (kFaulty) {
    *count += 1;
  } else {
    gpu::atomic_add<Order::kRelaxed>(count, 1);
  }
}

bool plain_addition(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(100);
  auto in = upload(stream, values), count = filled<int>(stream, 1, 0);
  gpu::launch(faulty ? count_even<true> : count_even<false>, 4, 32, 0, stream, in.data(), 100, count.data());
  return download(stream, count)[0] == 50;
}

// Block 0 writes a value and then a flag; block 1 waits for the flag and reads the value.
template <Order kWrite, Order kRead>
__global__ void hand_over(int* value, unsigned* flag, int* out) {
  if (blockIdx.x == 0) {
    *value = 5;
    gpu::atomic_exchange<kWrite>(flag, 1);
    return;
  }
  while (gpu::atomic_load<kRead>(flag) == 0) {
  }
  *out = *value;
}

template <Order kWrite, Order kRead>
bool publish(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  auto value = filled<int>(stream, 1, 0), out = filled<int>(stream, 1, 0);
  auto flag = filled<unsigned>(stream, 1, 0);
  gpu::launch(faulty ? hand_over<kWrite, kRead> : hand_over<Order::kRelease, Order::kAcquire>, 2, 1, 0,
              stream, value.data(), flag.data(), out.data());
  return download(stream, out)[0] == 5;
}

// The last block to come adds up what all have left.
template <bool kFaulty>
__global__ void add_parts(const int* in, int* parts, unsigned* num_done, int* sum) {
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = in[blockIdx.x];
  const unsigned before = gpu::atomic_add<Order::kAcquireRelease>(num_done, 1);
  if (before != (kFaulty ? gridDim.x - 2 : gridDim.x - 1)) return;
  int total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += parts[b];
  *sum = total;
}

bool last_block_is_not_the_last(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(8);
  auto in = upload(stream, values), parts = filled<int>(stream, 8, 0), sum = filled<int>(stream, 1, 0);
  auto done = filled<unsigned>(stream, 1, 0);
  gpu::launch(faulty ? add_parts<true> : add_parts<false>, 8, 32, 0, stream, in.data(), parts.data(),
              done.data(), sum.data());
  return download(stream, sum)[0] == 36;
}

// A lock that is taken by each block once, and by a faulty one never given back.
template <bool kFaulty>
__global__ void add_locked(unsigned* lock, int* sum) {
  while (gpu::atomic_exchange<Order::kAcquire>(lock, 1) != 0) {
  }
  *sum += 1;
  if constexpr (!kFaulty) gpu::atomic_store<Order::kRelease>(lock, 0);
}

bool lock_that_stays(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  auto lock = filled<unsigned>(stream, 1, 0);
  auto sum = filled<int>(stream, 1, 0);
  gpu::launch(faulty ? add_locked<true> : add_locked<false>, 6, 1, 0, stream, lock.data(), sum.data());
  return download(stream, sum)[0] == 6;
}

// A sum of numbers that round: atomics add them in the order of arrival.
template <bool kFaulty>
__global__ void add_floats(const float* in, unsigned n, float* sum) {
  if constexpr (kFaulty) {
    gpu::atomic_add<Order::kRelaxed>(sum, in[threadIdx.x]);
  } else if (threadIdx.x == 0) {
    for (unsigned i = 0; i < n; ++i) *sum += in[i];
  }
}

bool order_of_arrival(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  std::vector<float> values(32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0f / static_cast<float>(i + 1);
  auto in = upload(stream, values), sum = filled<float>(stream, 1, 0);
  gpu::launch(faulty ? add_floats<true> : add_floats<false>, 1, 32, 0, stream, in.data(), 32u, sum.data());
  return download(stream, sum)[0] == std::accumulate(values.begin(), values.end(), 0.0f);
}

constexpr Scenario kScenarios[] = {
    {"dropped_barrier", dropped_barrier, kWrong, kWrong, kRace},
    {"write_before_all_have_read", write_before_all_have_read, kWrong, kWrong, kRace},
    {"barrier_in_a_branch", barrier_in_a_branch, "at a barrier: of 64 threads 40 arrived", kStuck, kStuck},
    {"return_before_a_barrier", return_before_a_barrier, "at a barrier: of 64 threads 50 arrived, 50 alive",
     kStuck, kStuck},
    {"store_for_compare_exchange", insert_all<Claim::kStore>, kWrong, kWrong, kWrong},
    {"plain_store_for_compare_exchange", insert_all<Claim::kPlain>, nullptr, nullptr, kRace},
    {"plain_addition", plain_addition, nullptr, nullptr, kRace},
    {"relaxed_write_of_a_flag", publish<Order::kRelaxed, Order::kAcquire>, nullptr, nullptr, kRace},
    {"relaxed_read_of_a_flag", publish<Order::kRelease, Order::kRelaxed>, nullptr, nullptr, kRace},
    {"last_block_is_not_the_last", last_block_is_not_the_last, kWrong, kWrong, kRace},
    {"lock_that_stays", lock_that_stays, "does not end in", "does not end in", "does not end in"},
    {"order_of_arrival", order_of_arrival, kWrong, kWrong, kWrong},
};

}  // namespace

std::span<const Scenario> faults_in_blocks() {
  return kScenarios;
}

}  // namespace ps
