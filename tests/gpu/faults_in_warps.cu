// Faults between the lanes of a warp: masks, lanes that stay away, reliance on lock-step.
#include <numeric>
#include <vector>

#include "gpu/device_data.h"
#include "gpu/scenario.h"

namespace ps {

namespace {

std::vector<uint32_t> counting(uint32_t n) {
  std::vector<uint32_t> values(n);
  std::iota(values.begin(), values.end(), 1u);
  return values;
}

uint32_t sum(const std::vector<uint32_t>& values) {
  return std::accumulate(values.begin(), values.end(), 0u);
}

// Runs kernel(in, out) on one warp: counting(32) in, 32 numbers out.
std::vector<uint32_t> run_warp(gpu::Device& device, void (*kernel)(const uint32_t*, uint32_t*)) {
  gpu::Stream stream(device);
  const std::vector<uint32_t> values = counting(32);
  auto in = upload(stream, values), out = filled<uint32_t>(stream, 32, 0);
  gpu::launch(kernel, 1, 32, 0, stream, in.data(), out.data());
  return download(stream, out);
}

// The lower half adds up its values.
template <bool kFaulty>
__global__ void add_half(const uint32_t* in, uint32_t* out) {
  const unsigned lane = gpu::lane();
  if (lane >= 16) return;
  out[lane] = gpu::reduce_add(kFaulty ? gpu::kFullWarp : 0xffff, in[lane]);
}

bool mask_names_lanes_that_ended(gpu::Device& device, bool faulty) {
  return run_warp(device, faulty ? add_half<true> : add_half<false>)[3] == 136;
}

// The upper half waits in a barrier of the warp meanwhile.
template <bool kFaulty>
__global__ void vote_in_half(const uint32_t* in, uint32_t* out) {
  const unsigned lane = gpu::lane();
  if (lane < 16) out[lane] = gpu::ballot(kFaulty ? gpu::kFullWarp : 0xffff, in[lane] % 2 == 0);
  gpu::sync_warp();
}

bool mask_is_too_wide(gpu::Device& device, bool faulty) {
  return run_warp(device, faulty ? vote_in_half<true> : vote_in_half<false>)[0] == 0xaaaa;
}

template <bool kFaulty>
__global__ void vote_without(const uint32_t* in, uint32_t* out) {
  const unsigned lane = gpu::lane();
  const uint32_t mask = kFaulty ? 0xfffffffe : gpu::kFullWarp;
  out[lane] = gpu::ballot(mask, in[lane] > 16);
}

bool mask_lacks_its_own_lane(gpu::Device& device, bool faulty) {
  return run_warp(device, faulty ? vote_without<true> : vote_without<false>)[5] == 0xffff0000;
}

// Even lanes give to odd ones.
template <bool kFaulty>
__global__ void give_to_odd(const uint32_t* in, uint32_t* out) {
  const unsigned lane = gpu::lane();
  const uint32_t given = kFaulty && lane % 2 == 0 ? 0 : gpu::shuffle(gpu::kFullWarp, in[lane], lane & ~1u);
  out[lane] = given;
}

bool divergent_shuffle(gpu::Device& device, bool faulty) {
  return run_warp(device, faulty ? give_to_odd<true> : give_to_odd<false>)[9] == 9;
}

template <bool kFaulty>
__global__ void different_calls(const uint32_t* in, uint32_t* out) {
  const unsigned lane = gpu::lane();
  if (kFaulty && lane < 16) {
    out[lane] = gpu::any(gpu::kFullWarp, in[lane] > 40);
  } else {
    out[lane] = gpu::all(gpu::kFullWarp, in[lane] < 40);
  }
}

bool different_operations(gpu::Device& device, bool faulty) {
  return run_warp(device, faulty ? different_calls<true> : different_calls<false>) ==
         std::vector<uint32_t>(32, 1);
}

template <bool kFaulty>
__global__ void take_from_lane(const uint32_t* in, uint32_t* out) {
  const unsigned lane = gpu::lane();
  if (lane >= 8) return;
  out[lane] = gpu::shuffle(0xff, in[lane], kFaulty ? lane + 1 : (lane + 1) % 8);
}

bool shuffle_from_a_lane_outside(gpu::Device& device, bool faulty) {
  return run_warp(device, faulty ? take_from_lane<true> : take_from_lane<false>)[7] == 1;
}

template <bool kFaulty>
__global__ void add_warp(const uint32_t* in, uint32_t* out) {
  uint32_t total = in[gpu::lane()];
  for (unsigned bits = kFaulty ? 8 : 16; bits > 0; bits /= 2)
    total += gpu::shuffle_xor(gpu::kFullWarp, total, bits);
  out[gpu::lane()] = total;
}

bool reduction_of_half_a_warp(gpu::Device& device, bool faulty) {
  return run_warp(device, faulty ? add_warp<true> : add_warp<false>)[0] == sum(counting(32));
}

// Lanes write to shared memory and read what their neighbours wrote.
template <bool kFaulty>
__global__ void take_next(const uint32_t* in, uint32_t* out) {
  PS_SHARED_ARRAY(uint32_t, part, 32);
  part[gpu::lane()] = in[gpu::lane()];
  if constexpr (!kFaulty) gpu::sync_warp();
  out[gpu::lane()] = part[(gpu::lane() + 1) % 32];
}

bool reliance_on_lock_step(gpu::Device& device, bool faulty) {
  return run_warp(device, faulty ? take_next<true> : take_next<false>)[30] == 32;
}

// The lanes whose values are alike add up how many they are.
template <bool kFaulty>
__global__ void count_alike(const uint32_t* in, uint32_t* out) {
  const uint32_t value = in[gpu::lane()] % 3;
  const uint32_t alike = gpu::match_any(gpu::kFullWarp, value);
  out[gpu::lane()] = gpu::reduce_add(kFaulty ? gpu::kFullWarp : alike, 1);
}

bool group_taken_for_the_warp(gpu::Device& device, bool faulty) {
  return run_warp(device, faulty ? count_alike<true> : count_alike<false>)[0] == 11;
}

constexpr Scenario kScenarios[] = {
    {"mask_names_lanes_that_ended", mask_names_lanes_that_ended,
     "waits in reduce_add: mask 0xffffffff, arrived 0x0000ffff, alive 0x0000ffff", kStuck, kStuck},
    {"mask_is_too_wide", mask_is_too_wide, "where lanes of the same mask wait", "where lanes", "where lanes"},
    {"mask_lacks_its_own_lane", mask_lacks_its_own_lane,
     "thread 0: ballot: the mask does not name its own lane", "own lane", "own lane"},
    {"divergent_shuffle", divergent_shuffle,
     "waits in shuffle: mask 0xffffffff, arrived 0xaaaaaaaa, alive 0xaaaaaaaa", kStuck, kStuck},
    {"different_operations", different_operations, "calls (any|all) where lanes", "calls", "calls"},
    {"shuffle_from_a_lane_outside", shuffle_from_a_lane_outside,
     "lane 7 shuffles from lane 8, which mask 0x000000ff", "shuffles from lane 8", "shuffles from lane 8"},
    {"reduction_of_half_a_warp", reduction_of_half_a_warp, kWrong, kWrong, kWrong},
    {"reliance_on_lock_step", reliance_on_lock_step, kWrong, kWrong, kRace},
    {"group_taken_for_the_warp", group_taken_for_the_warp, kWrong, kWrong, kWrong},
};

}  // namespace

std::span<const Scenario> faults_in_warps() {
  return kScenarios;
}

}  // namespace ps
