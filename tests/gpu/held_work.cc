// Work that a device of a model holds back: it gives what it gives piece by piece, and work that comes again is started as a
// graph.
#include "model/cuda/held_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "model/cuda/gpu_kernels.h"
#include "optim/kernels/steps.h"
#include "test_device.h"

namespace ps {

namespace {

// A batch of `size` values: it is uploaded, doubled three times on the device, and downloaded.
class Batches {
 public:
  explicit Batches(uint64_t seed)
      : kernels_(make_gpu_kernels(std::make_unique<gpu::Device>(test_device::by_seed(seed)))),
        device_(host_, kernels_) {}

  std::vector<float> compute(int64_t size, float first, bool held = true) {
    std::vector<float> values(static_cast<size_t>(size));
    std::iota(values.begin(), values.end(), first);
    kernels_->begin_batch();
    if (held) kernels_->hold_work(BatchPart::kForward);
    buffer_.resize(device_, size);
    const float* const there = copy_there(device_, values.data(), size);
    fill_values(device_, 0.0f, size, buffer_.data());
    for (int time = 0; time < 3; ++time) add_scaled_values(device_, 2.0f, there, size, buffer_.data());
    const void* const back = kernels_->download(buffer_.data(), buffer_.bytes());
    if (held) kernels_->start_work();
    kernels_->wait();
    const float* const floats = static_cast<const float*>(back);
    return {floats, floats + size};
  }

  StartedWork counts() const { return kernels_->started_work(); }
  ModelDevice& kernels() { return *kernels_; }
  Device& device() { return device_; }

 private:
  Device host_{1, best_cpu_level()};
  std::shared_ptr<ModelDevice> kernels_;
  Device device_;
  DeviceBuffer<float> buffer_;
};

std::vector<float> six_times(int64_t size, float first) {
  std::vector<float> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 6 * (first + static_cast<float>(i));
  return values;
}

TEST(HeldWork, ComesAgainAsAGraphWithOtherValues) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Batches batches(seed);
    for (int n = 0; n < 8; ++n)
      EXPECT_EQ(batches.compute(300, static_cast<float>(n)), six_times(300, static_cast<float>(n)));
    EXPECT_EQ(batches.counts().started, 8u);
    EXPECT_EQ(batches.counts().graphs, 7u) << "all but the first";
    EXPECT_EQ(batches.counts().in_graphs, 7u * 6) << "a copy there, a fill, three sums, a copy back";
  }
}

TEST(HeldWork, OfAnotherSizeIsOtherWork) {
  Batches batches(1);
  batches.compute(500, 0);  // the buffer has its memory
  for (int round = 0; round < 3; ++round) {
    for (int64_t size : {300, 200, 299})
      EXPECT_EQ(batches.compute(size, static_cast<float>(round)), six_times(size, static_cast<float>(round)));
  }
  EXPECT_EQ(batches.counts().started, 10u);
  EXPECT_EQ(batches.counts().graphs, 6u) << "each size but for its first time";
}

// The arrays are the same, and so are all other arguments: only the number of items differs.
TEST(HeldWork, OfFewerItemsIsOtherWork) {
  Batches batches(6);
  DeviceBuffer<float> buffer;
  buffer.resize(batches.device(), 64);
  for (int64_t items : {10, 20, 10, 20, 10}) {
    batches.kernels().hold_work(BatchPart::kForward);
    fill_values(batches.device(), 1.0f, 64, buffer.data());
    fill_values(batches.device(), 2.0f, items, buffer.data());
    batches.kernels().start_work();
    std::vector<float> result(64), expected(64, 1.0f);
    std::fill_n(expected.begin(), items, 2.0f);
    batches.kernels().receive(result.data(), buffer.data(), buffer.bytes());
    EXPECT_EQ(result, expected);
  }
  EXPECT_EQ(batches.counts().graphs, 3u);
}

TEST(HeldWork, IsNotHeldUnlessAsked) {
  Batches batches(2);
  for (int n = 0; n < 3; ++n) EXPECT_EQ(batches.compute(10, 1, /*held=*/false), six_times(10, 1));
  EXPECT_EQ(batches.counts().started, 0u);
}

// Many kinds of work are known at a time; older ones are made anew.
TEST(HeldWork, ForgetsWhatDidNotComeForLong) {
  Batches batches(3);
  batches.compute(1000, 0);
  for (int round = 0; round < 2; ++round) {
    for (int64_t size = 1; size <= 100; ++size) {
      for (int time = 0; time < 2; ++time) EXPECT_EQ(batches.compute(size, 1), six_times(size, 1));
    }
  }
  EXPECT_EQ(batches.counts().graphs, 200u) << "the second time in each round";
}

// A part whose work is new each time is not held for long.  When it comes to be the same, that is found out after a while.
TEST(HeldWork, ThatIsNewEachTimeIsNoLongerHeld) {
  Batches batches(7);
  batches.compute(1000, 0);
  for (int64_t size = 1; size <= 30; ++size) EXPECT_EQ(batches.compute(size, 1), six_times(size, 1));
  EXPECT_EQ(batches.counts().started, 8u);
  for (int n = 0; n < 10; ++n) EXPECT_EQ(batches.compute(50, 1), six_times(50, 1));
  EXPECT_GT(batches.counts().graphs, 0u);
}

// Steps of two parameters, whose constants change, between work that reads what the first has left: the order stays.  The
// constants go there in one copy for those that follow each other.
TEST(HeldWork, StepsWithOtherConstantsAreTheSameWork) {
  for (const bool held : {true, false}) {
    Batches batches(5);
    ModelDevice& kernels = batches.kernels();
    DeviceBuffer<float> weights, gradient, seen;
    for (DeviceBuffer<float>* buffer : {&weights, &gradient, &seen}) buffer->resize(batches.device(), 64);
    fill_values(batches.device(), 0.0f, 64, weights.data());
    fill_values(batches.device(), 1.0f, 64, gradient.data());
    float expected = 0;
    for (int time = 1; time <= 4; ++time) {
      kernels.begin_batch();
      const auto step = [&](float rate) {
        kernels.step({SgdStep<float>{rate, {}}, 100.0f, {}}, 1.0f,
                     {64, 64, weights.data(), nullptr, nullptr, gradient.data()});
        expected -= rate;
      };
      if (held) kernels.hold_work(BatchPart::kForward);
      step(static_cast<float>(time));
      step(0.5f);
      kernels.copy(seen.data(), weights.data(), weights.bytes());
      const float seen_here = expected;
      step(0.25f);
      if (held) kernels.start_work();
      std::vector<float> result(64), later(64);
      kernels.receive(result.data(), seen.data(), seen.bytes());
      kernels.receive(later.data(), weights.data(), weights.bytes());
      EXPECT_EQ(result, std::vector<float>(64, seen_here));
      EXPECT_EQ(later, std::vector<float>(64, expected));
    }
    EXPECT_EQ(batches.counts().graphs, held ? 3u : 0u);
    EXPECT_EQ(batches.counts().in_graphs, held ? 3u * 6 : 0u)
        << "three steps, and copies of two rules, of one, and of weights";
  }
}

// Memory that is released or allocated meanwhile is not that of held work, which is started before.
TEST(HeldWork, IsStartedBeforeMemoryChanges) {
  Batches batches(4);
  for (int round = 0; round < 4; ++round) {
    ModelDevice& kernels = batches.kernels();
    std::vector<float> result(64);
    kernels.begin_batch();
    kernels.hold_work(BatchPart::kForward);
    DeviceBuffer<float> first, second;
    first.resize(batches.device(), 64);
    fill_values(batches.device(), 3.0f, 64, first.data());
    second.resize(batches.device(), 64);
    kernels.copy(second.data(), first.data(), first.bytes());
    first = {};
    add_scaled_values(batches.device(), 1.0f, second.data(), 64, second.data());
    kernels.receive(result.data(), second.data(), second.bytes());
    kernels.start_work();
    EXPECT_EQ(result, std::vector<float>(64, 6.0f));
  }
}

}  // namespace

}  // namespace ps
