// A layer that is divided over trainers multiplies on their devices, and gives what it gives without them.
#include "model/split_product.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "collective/parts.h"
#include "on_both_devices.h"
#include "support/thread_communicator.h"
#include "test_device.h"

namespace ps {

namespace {

// The arrays of one trainer: B rows of its own, and a weight of which it reads its columns.
struct Trainer {
  std::vector<float> in, weight, gradient;         // [B, K], [K, N], [B, N]
  std::vector<float> out, weight_gradient, below;  // [B, N], [K, N], [B, K]
};

struct DividedShape {
  int64_t depth, cols;
  std::array<int64_t, 2> rows;
};

// Computes forward and backward of both trainers in threads; trainer `rank` has a device of its own if on_devices.
std::array<Trainer, 2> compute(const DividedShape& shape, uint64_t seed, bool on_devices) {
  auto communicators = make_thread_communicators({.size = 2});
  std::array<Trainer, 2> trainers;
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto communicator = std::move(communicators[rank]);
      Random shared(seed, 0), own(seed, 1 + rank);
      Trainer& trainer = trainers[rank];
      const int64_t rows = shape.rows[rank];
      trainer.weight = draw_whole(shared, shape.depth * shape.cols);
      trainer.in = draw_whole(own, rows * shape.depth);
      trainer.gradient = draw_whole(own, rows * shape.cols);
      trainer.out = draw_whole(own, rows * shape.cols);
      trainer.weight_gradient = draw_whole(own, shape.depth * shape.cols);
      trainer.below = draw_whole(own, rows * shape.depth);
      Device host(1, best_cpu_level());
      std::unique_ptr<Device> there;
      if (on_devices) there = std::make_unique<Device>(host, device_kernels(seed + rank));
      const SplitDevices devices{host, there ? *there : host};
      SplitProduct product;
      for (int step = 0; step < 2; ++step) {
        if (there) there->kernels()->begin_batch();
        product.forward(*communicator, devices, {trainer.in.data(), rows, shape.depth},
                        {trainer.weight.data(), shape.depth, shape.cols},
                        {trainer.out.data(), rows, shape.cols});
        product.backward(*communicator, devices, {trainer.gradient.data(), rows, shape.cols},
                         {trainer.weight_gradient.data(), shape.depth, shape.cols}, true,
                         {trainer.below.data(), rows, shape.depth});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return trainers;
}

}  // namespace

// Sums of small whole numbers are exact in any order.
TEST(SplitProductOnDevices, GivesWhatTheProcessorGives) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 9);
    const DividedShape shape{1 + draw_size(random, 9),
                             1 + draw_size(random, 9),
                             {draw_size(random, 8), draw_size(random, seed % 4 == 0 ? 0 : 8)}};
    const std::array<Trainer, 2> here = compute(shape, seed, false), there = compute(shape, seed, true);
    for (size_t rank = 0; rank < 2; ++rank) {
      ASSERT_EQ(there[rank].out, here[rank].out) << "seed " << seed << ", trainer " << rank;
      ASSERT_EQ(there[rank].weight_gradient, here[rank].weight_gradient) << "seed " << seed;
      ASSERT_EQ(there[rank].below, here[rank].below) << "seed " << seed;
    }
  }
}

// The device has no room for the arrays, which shows that they go there.
TEST(SplitProductOnDevices, UsesTheDevice) {
  Device host(1, best_cpu_level());
  Device small(host, make_gpu_kernels(std::make_unique<gpu::Device>(test_device::with_little_memory())));
  auto communicators = make_thread_communicators({.size = 1});
  constexpr int64_t kDepth = test_device::kTooManyFloats, kRows = 2, kCols = 2;
  const std::vector<float> in(kRows * kDepth), weight(kDepth * kCols);
  std::vector<float> out(kRows * kCols);
  EXPECT_THROW(SplitProduct().forward(*communicators[0], {host, small}, {in.data(), kRows, kDepth},
                                      {weight.data(), kDepth, kCols}, {out.data(), kRows, kCols}),
               Error);
}

}  // namespace ps
