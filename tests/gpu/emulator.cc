// The emulator itself: indices, orders, reports of what is stuck, memory, streams, events, several devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "gpu/algorithms.h"
#include "gpu/device.h"
#include "gpu/device_data.h"

namespace ps {

namespace {

using gpu::Extent;
using gpu::Order;
using gpu::emulated::EmulatorOptions;
using gpu::emulated::ScheduleOrder;
using gpu::emulated::StreamOrder;
using testing::AllOf;
using testing::HasSubstr;

EmulatorOptions in_random_order(uint64_t seed) {
  EmulatorOptions options;
  options.seed = seed;
  options.order = ScheduleOrder::kRandom;
  options.stream_order = StreamOrder::kRandom;
  return options;
}

std::vector<EmulatorOptions> all_orders() {
  std::vector<EmulatorOptions> orders(2);
  orders[1].order = ScheduleOrder::kAlways;
  for (uint64_t seed = 0; seed < 5; ++seed) orders.push_back(in_random_order(seed));
  return orders;
}

// The message of the Error that `act` throws; "" for none.
template <class Act>
std::string error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

// Notes, for each thread of a grid, one number made of its place.
void note_places(unsigned* out) {
  const unsigned in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + in_block] = block * 1000 + in_block;
}

TEST(Emulator, GivesEveryThreadItsPlaceInThreeDimensions) {
  for (const EmulatorOptions& options : all_orders()) {
    gpu::Device device(options);
    gpu::Stream stream(device);
    const Extent grid(2, 3, 2), block(5, 2, 4);
    gpu::DeviceArray<unsigned> out(device, static_cast<int64_t>(grid.count() * block.count()));
    gpu::launch(note_places, grid, block, 0, stream, out.data());
    const std::vector<unsigned> places = download(stream, out);
    for (unsigned i = 0; i < places.size(); ++i) ASSERT_EQ(places[i], i / 40 * 1000 + i % 40);
  }
}

// Lanes of one warp in each operation; the results of lane 5 and 20.
struct Votes {
  uint32_t ballot, any, all, match, add, least, most, both, either, from, up, down, across, none_up;
};

void vote(Votes* out) {
  const unsigned lane = gpu::lane();
  const uint32_t full = gpu::kFullWarp;
  Votes v;
  v.ballot = gpu::ballot(full, lane % 3 == 0);
  v.any = gpu::any(full, lane == 31);
  v.all = gpu::all(full, lane != 31);
  v.match = gpu::match_any(full, uint64_t{lane % 4} << 40);
  v.add = gpu::reduce_add(full, lane);
  v.least = gpu::reduce_min(full, lane + 7);
  v.most = gpu::reduce_max(full, lane + 7);
  v.both = gpu::reduce_and(full, lane | 64);
  v.either = gpu::reduce_or(full, lane);
  v.from = gpu::shuffle(full, lane * 10, 3);
  v.up = gpu::shuffle_up(full, lane, 2);
  v.down = gpu::shuffle_down(full, lane, 2);
  v.across = gpu::shuffle_xor(full, lane, 1);
  v.none_up = gpu::shuffle_up(full, lane, 31);
  out[lane] = v;
}

TEST(Emulator, WarpOperationsGiveWhatCudaDefines) {
  for (const EmulatorOptions& options : all_orders()) {
    gpu::Device device(options);
    gpu::Stream stream(device);
    gpu::DeviceArray<Votes> out(device, 32);
    gpu::launch(vote, 1, 32, 0, stream, out.data());
    const Votes v = download(stream, out)[20];
    EXPECT_EQ(v.ballot, 0x49249249u);
    EXPECT_EQ(v.any, 1u);
    EXPECT_EQ(v.all, 0u);
    EXPECT_EQ(v.match, 0x11111111u);
    EXPECT_EQ(v.add, 496u);
    EXPECT_EQ(v.least, 7u);
    EXPECT_EQ(v.most, 38u);
    EXPECT_EQ(v.both, 64u);
    EXPECT_EQ(v.either, 31u);
    EXPECT_EQ(v.from, 30u);
    EXPECT_EQ(v.up, 18u);
    EXPECT_EQ(v.down, 22u);
    EXPECT_EQ(v.across, 21u);
    EXPECT_EQ(v.none_up, 20u);
  }
}

void use_atomics(uint32_t* numbers, float* sum) {
  const uint32_t i = threadIdx.x;
  gpu::atomic_add<Order::kRelaxed>(&numbers[0], i);
  gpu::atomic_min<Order::kRelaxed>(&numbers[1], i + 3);
  gpu::atomic_max<Order::kRelaxed>(&numbers[2], i + 3);
  gpu::atomic_or<Order::kRelaxed>(&numbers[3], 1u << i % 32);
  gpu::atomic_add<Order::kRelaxed>(sum, 0.5f);
  if (gpu::atomic_compare_exchange<Order::kAcquireRelease>(&numbers[4], 0, i + 1) == 0) {
    gpu::atomic_exchange<Order::kRelease>(&numbers[5], i + 1);
  }
}

TEST(Emulator, AtomicsLoseNothing) {
  for (const EmulatorOptions& options : all_orders()) {
    gpu::Device device(options);
    gpu::Stream stream(device);
    const std::vector<uint32_t> start = {0, 1000, 0, 0, 0, 0};
    auto numbers = upload(stream, start);
    auto sum = filled<float>(stream, 1, 0);
    gpu::launch(use_atomics, 1, 100, 0, stream, numbers.data(), sum.data());
    const std::vector<uint32_t> found = download(stream, numbers);
    EXPECT_EQ(found[0], 4950u);
    EXPECT_EQ(found[1], 3u);
    EXPECT_EQ(found[2], 102u);
    EXPECT_EQ(found[3], 0xffffffffu);
    EXPECT_EQ(found[4], found[5]);
    EXPECT_EQ(download(stream, sum)[0], 50.0f);
  }
}

void order_of_writes(unsigned* order, unsigned* next) {
  order[gpu::atomic_add<Order::kRelaxed>(next, 1)] = threadIdx.x + blockDim.x * blockIdx.x;
}

std::vector<unsigned> order_with(const EmulatorOptions& options) {
  gpu::Device device(options);
  gpu::Stream stream(device);
  auto next = filled<unsigned>(stream, 1, 0);
  auto order = filled<unsigned>(stream, 6 * 40, 0);
  gpu::launch(order_of_writes, 6, 40, 0, stream, order.data(), next.data());
  return download(stream, order);
}

TEST(Emulator, SeedDecidesTheOrderAndRepeatsIt) {
  std::vector<unsigned> by_lane(240);
  std::iota(by_lane.begin(), by_lane.end(), 0u);
  EXPECT_EQ(order_with({}), by_lane);
  const std::vector<unsigned> first = order_with(in_random_order(1));
  EXPECT_EQ(order_with(in_random_order(1)), first);
  EXPECT_NE(order_with(in_random_order(2)), first);
  EXPECT_THAT(first, testing::UnorderedElementsAreArray(by_lane));
}

void wait_for_ever(unsigned* out) {
  if (threadIdx.x < 20) {
    out[threadIdx.x] = gpu::ballot(gpu::kFullWarp, true);
  } else if (threadIdx.x < 40) {
    gpu::sync_block();
  }
}

TEST(Emulator, ReportsWhoWaitsForWhatWithTheSeed) {
  gpu::Device device(in_random_order(17));
  gpu::Stream stream(device);
  gpu::DeviceArray<unsigned> out(device, 64);
  const std::string error = error_of([&] {
    gpu::launch(wait_for_ever, 2, 64, 0, stream, out.data());
    stream.synchronize();
  });
  EXPECT_THAT(error,
              AllOf(HasSubstr("kernel of 2 blocks of 64 threads, seed 17: nothing can run: "),
                    HasSubstr("block 1 thread 20 waits at a barrier: of 64 threads 20 arrived, 40 alive"),
                    HasSubstr("block 0 thread 0 waits in ballot: mask 0xffffffff, arrived 0x000fffff, alive "
                              "0xffffffff")));
}

TEST(Emulator, LaunchesAgainAfterOneThatStuck) {
  gpu::Device device(in_random_order(3));
  gpu::Stream stream(device);
  gpu::DeviceArray<unsigned> out(device, 64);
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(error_of([&] {
                  gpu::launch(wait_for_ever, 1, 64, 0, stream, out.data());
                  stream.synchronize();
                }),
                HasSubstr("nothing can run"));
    gpu::launch(note_places, 1, 64, 0, stream, out.data());
    EXPECT_EQ(download(stream, out)[63], 63u);
  }
}

void spin(unsigned* flag) {
  while (gpu::atomic_load<Order::kRelaxed>(flag) == 0) {
  }
}

TEST(Emulator, EndlessKernelIsAnError) {
  EmulatorOptions options;
  options.max_steps = 1000;
  gpu::Device device(options);
  gpu::Stream stream(device);
  auto flag = filled<unsigned>(stream, 1, 0);
  gpu::launch(spin, 1, 2, 0, stream, flag.data());
  EXPECT_THAT(error_of([&] { stream.synchronize(); }), HasSubstr("does not end in 1000 turns"));
}

TEST(Emulator, RefusesLaunchesThatNoDeviceTakes) {
  gpu::Device device;
  gpu::Stream stream(device);
  gpu::DeviceArray<unsigned> out(device, 64);
  const auto error = [&](Extent grid, Extent block, uint32_t shared) {
    return error_of([&] { gpu::launch(note_places, grid, block, shared, stream, out.data()); });
  };
  EXPECT_THAT(error(0, 32, 0), HasSubstr("a grid of 0 x 1 x 1"));
  EXPECT_THAT(error({1, 70000}, 32, 0), HasSubstr("a grid of 1 x 70000 x 1"));
  EXPECT_THAT(error(1, 0, 0), HasSubstr("a block of 0"));
  EXPECT_THAT(error(1, {1, 1, 65}, 0), HasSubstr("a block of 1 x 1 x 65"));
  EXPECT_THAT(error(1, {64, 17}, 0), HasSubstr("a block of 1088 threads, expected at most 1024"));
  EXPECT_THAT(error(1, 32, 300 << 10), HasSubstr("307200 bytes of shared memory"));
  EXPECT_EQ(error(1, 32, 64 << 10), "");
}

void too_much_shared(unsigned* out) {
  PS_SHARED_ARRAY(unsigned, part, 60 << 10);
  part[threadIdx.x] = out[threadIdx.x];
}

TEST(Emulator, CountsSharedArraysOfABlock) {
  gpu::Device device;
  gpu::Stream stream(device);
  gpu::DeviceArray<unsigned> out(device, 1);
  gpu::launch(too_much_shared, 1, 1, 0, stream, out.data());
  EXPECT_THAT(error_of([&] { stream.synchronize(); }),
              HasSubstr("needs 245760 bytes of shared memory, of 232448"));
}

TEST(Emulator, MemoryRunsOutAsOnADevice) {
  EmulatorOptions options;
  options.memory_bytes = 1 << 20;
  gpu::Device device(options);
  gpu::DeviceArray<char> most(device, 1000000);
  EXPECT_EQ(device.memory().total_bytes, 1u << 20);
  EXPECT_EQ(device.memory().free_bytes, (1u << 20) - 1000192);
  try {
    gpu::DeviceArray<char> more(device, 48385);
    FAIL() << "more than there is";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kExhausted);
    EXPECT_THAT(error.message(), HasSubstr("no device memory for 48385 bytes: 48384 of 1048576 are free"));
  }
  most = {};
  EXPECT_EQ(device.memory().free_bytes, 1u << 20);
}

void add_to(unsigned* value, unsigned amount) {
  *value = *value * 10 + amount;
}

TEST(Emulator, StreamsKeepTheirOrderAndEventsOrderThem) {
  for (const EmulatorOptions& options : all_orders()) {
    gpu::Device device(options);
    gpu::Stream first(device), second(device);
    gpu::Event halfway(device), never(device);
    auto value = filled<unsigned>(first, 1, 0);
    gpu::launch(add_to, 1, 1, 0, first, value.data(), 1u);
    first.record(halfway);
    second.wait(halfway);
    second.wait(never);
    gpu::launch(add_to, 1, 1, 0, second, value.data(), 2u);
    second.record(halfway);
    first.wait(halfway);
    gpu::launch(add_to, 1, 1, 0, first, value.data(), 3u);
    EXPECT_EQ(download(first, value)[0], 123u);
  }
}

TEST(Emulator, TimerTellsTheSecondsBetweenItsPointsAndNoOthers) {
  constexpr double kWork = 2e-3;
  const auto work = [] {
    for (const double start = monotonic_seconds(); monotonic_seconds() - start < kWork;) continue;
  };
  for (const EmulatorOptions& options : all_orders()) {
    gpu::Device device(options);
    gpu::Stream stream(device);
    gpu::Timer timer(device), none(device);
    const double start = monotonic_seconds();
    stream.enqueue(work);
    timer.start(stream);
    stream.enqueue(work);
    timer.stop(stream);
    none.start(stream);
    none.stop(stream);
    stream.enqueue(work);
    EXPECT_GE(timer.seconds(), kWork);
    const double of_all = monotonic_seconds() - start;
    EXPECT_LE(timer.seconds() + none.seconds() + 2 * kWork, of_all);
    EXPECT_GE(none.seconds(), 0);
  }
}

TEST(Emulator, HostMemoryIsCopiedBothWays) {
  gpu::Device device;
  gpu::Stream stream(device);
  gpu::HostMemory host(device);
  gpu::HostArray<int> from(host, 1000), to(host, 1000);
  gpu::DeviceArray<int> there(device, 1000);
  std::iota(from.data(), from.data() + from.size(), 5);
  stream.copy_to_device(there.data(), from.data(), from.bytes());
  stream.copy_to_host(to.data(), there.data(), to.bytes());
  stream.synchronize();
  EXPECT_EQ(std::vector(to.data(), to.data() + to.size()),
            std::vector(from.data(), from.data() + from.size()));
}

TEST(Emulator, DevicesHaveTheirOwnMemory) {
  gpu::Device one, other;
  gpu::Stream stream(one), other_stream(other);
  gpu::Event written(other);
  auto source = filled<unsigned>(other_stream, 4, 0);
  gpu::launch(note_places, 1, 4, 0, other_stream, source.data());
  other_stream.record(written);
  gpu::DeviceArray<unsigned> copy(one, 4);
  EXPECT_THAT(error_of([&] { gpu::launch(note_places, 1, 4, 0, stream, source.data()); }),
              HasSubstr("is not into one array of the stream's device"));
  EXPECT_THAT(error_of([&] { stream.copy_from_device(copy.data(), one, source.data(), 16); }),
              HasSubstr("from no array of the other"));
  stream.wait(written);
  stream.copy_from_device(copy.data(), other, source.data(), 16);
  EXPECT_EQ(download(stream, copy), (std::vector<unsigned>{0, 1, 2, 3}));
}

void copy_nothing_yet(const unsigned* in, unsigned* out) {
  PS_SHARED_ARRAY(unsigned, part, 1);
  part[0] = 1;
  gpu::copy_async(part, in, sizeof(unsigned));
  out[0] = part[0];
  gpu::commit_copies();
  out[1] = part[0];
  gpu::wait_copies<0>();
  out[2] = part[0];
}

TEST(Emulator, AsynchronousCopyHappensAtItsWaitOrBefore) {
  bool early = false, late = false;
  for (const EmulatorOptions& options : all_orders()) {
    gpu::Device device(options);
    gpu::Stream stream(device);
    const std::vector<unsigned> value = {9};
    auto in = upload(stream, value), out = filled<unsigned>(stream, 3, 0);
    gpu::launch(copy_nothing_yet, 1, 1, 0, stream, in.data(), out.data());
    const std::vector<unsigned> seen = download(stream, out);
    (seen[0] == 1 ? late : early) = true;
    EXPECT_EQ(seen[1], seen[0]);
    EXPECT_EQ(seen[2], 9u);
  }
  EXPECT_TRUE(early);
  EXPECT_TRUE(late);
}

TEST(Emulator, ComparesBytes) {
  EXPECT_EQ(gpu::equal_bytes(0x11223344, 0x11ff3345), 0xff00ff00u);
  EXPECT_EQ(gpu::equal_bytes(0, 0), 0xffffffffu);
}

// ---- algorithms

// All arrays of standard algorithms must be on the device, with room for what they hold.
TEST(Emulator, AlgorithmsTakeArraysOfTheDeviceAlone) {
  gpu::Device device;
  gpu::Stream stream(device);
  gpu::Workspace workspace(device);
  const std::vector<uint64_t> sorted = {1, 1, 2, 5};
  const std::vector<uint32_t> numbers = {7, 8, 9, 10};
  const std::vector<uint8_t> flags = {1, 0, 1, 1};
  auto keys = upload(stream, sorted);
  auto values = upload(stream, numbers);
  auto chosen = upload(stream, flags);
  gpu::DeviceArray<uint64_t> runs(device, 3), few_runs(device, 2);
  gpu::DeviceArray<uint32_t> three(device, 3), two(device, 2), count(device, 1);
  std::vector<uint32_t> here(4);
  const auto runs_into = [&](gpu::DeviceArray<uint64_t>& into, uint32_t* lengths) {
    return error_of([&] {
      gpu::find_runs(stream, workspace, keys.data(), 4, into.data(), lengths, count.data());
      stream.synchronize();
    });
  };
  EXPECT_EQ(runs_into(runs, three.data()), "");
  EXPECT_THAT(runs_into(few_runs, three.data()), HasSubstr("24 bytes is not into"));
  EXPECT_THAT(runs_into(runs, two.data()), HasSubstr("12 bytes is not into"));
  EXPECT_THAT(runs_into(runs, here.data()), HasSubstr("is not into"));
  const auto select_into = [&](uint32_t* selected) {
    return error_of([&] {
      gpu::select(stream, workspace, values.data(), chosen.data(), 4, selected, count.data());
      stream.synchronize();
    });
  };
  EXPECT_EQ(select_into(three.data()), "");
  EXPECT_THAT(select_into(two.data()), HasSubstr("12 bytes is not into"));
  EXPECT_THAT(select_into(here.data()), HasSubstr("is not into"));
}

TEST(Emulator, ProductsTakeMatricesOfTheDeviceAlone) {
  gpu::Device device;
  gpu::Stream stream(device);
  std::vector<float> here(6);
  auto six = upload(stream, here);
  gpu::DeviceArray<float> five(device, 5), four(device, 4);
  four = upload(stream, std::vector<float>(4));
  // [2, 2] = [2, 3] [3, 2]
  const auto product = [&](const float* a, const float* b, float* c) {
    return error_of([&] {
      gpu::multiply(stream, {a, 3}, {b, 3, true}, 2, 2, 3, 0, c, 2);
      stream.synchronize();
    });
  };
  EXPECT_EQ(product(six.data(), six.data(), four.data()), "");
  EXPECT_THAT(product(five.data(), six.data(), four.data()), HasSubstr("24 bytes is not into"));
  EXPECT_THAT(product(six.data(), five.data(), four.data()), HasSubstr("24 bytes is not into"));
  EXPECT_THAT(product(six.data(), here.data(), four.data()), HasSubstr("is not into"));
  EXPECT_THAT(product(six.data(), six.data(), four.data() + 1), HasSubstr("16 bytes is not into"));
}

}  // namespace

}  // namespace ps
