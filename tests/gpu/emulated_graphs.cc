// Graphs of the emulator: what is captured runs again with the memory as it is then, and what CUDA does not allow while work
// is captured is an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/device.h"
#include "gpu/device_data.h"

namespace ps {

namespace {

using testing::HasSubstr;

// The message of the Error that `act` throws; "" for none.
template <class Act>
std::string refusal_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

void add_one(unsigned* values) {
  gpu::atomic_add<gpu::Order::kRelaxed>(&values[threadIdx.x % 4], 1);
}

// Streams in order, and at random.
std::vector<gpu::emulated::EmulatorOptions> orders_of_streams() {
  std::vector<gpu::emulated::EmulatorOptions> orders(6);
  for (uint64_t seed = 1; seed < orders.size(); ++seed) {
    orders[seed].seed = seed;
    orders[seed].stream_order = gpu::emulated::StreamOrder::kRandom;
  }
  return orders;
}

// A copy from the host, a kernel of eight threads, and a copy back.
struct Captured {
  explicit Captured(gpu::Stream& stream) : there(stream.device(), 4) {
    stream.begin_capture();
    stream.copy_to_device(there.data(), from.data(), there.bytes());
    gpu::launch(add_one, 1, 8, 0, stream, there.data());
    stream.copy_to_host(to.data(), there.data(), there.bytes());
    graph = stream.end_capture();
  }

  std::vector<unsigned> from = {1, 2, 3, 4}, to = {0, 0, 0, 0};
  gpu::DeviceArray<unsigned> there;
  gpu::Graph graph;
};

TEST(EmulatedGraphs, RunEachTimeWithWhatMemoryHoldsThen) {
  for (const auto& options : orders_of_streams()) {
    gpu::Device device(options);
    gpu::Stream stream(device);
    Captured captured(stream);
    stream.synchronize();
    EXPECT_EQ(captured.to, std::vector<unsigned>(4, 0)) << "captured work has run";
    EXPECT_EQ(captured.graph.size(), 3u);
    for (unsigned first : {10u, 20u}) {
      captured.from[0] = first;
      stream.replay(captured.graph);
      stream.synchronize();
      EXPECT_EQ(captured.to, (std::vector<unsigned>{first + 2, 4, 5, 6}));
    }
    gpu::launch(add_one, 1, 4, 0, stream, captured.there.data());
    EXPECT_EQ(download(stream, captured.there), (std::vector<unsigned>{23, 5, 6, 7}))
        << "work is queued again";
  }
}

// Kernels of a graph run in new orders each time, as those that are queued do.
TEST(EmulatedGraphs, WorkBeforeAndBehindAGraphKeepsItsOrder) {
  for (const auto& options : orders_of_streams()) {
    gpu::Device device(options);
    gpu::Stream stream(device);
    auto values = filled<unsigned>(stream, 4, 0);
    stream.begin_capture();
    gpu::launch(add_one, 2, 4, 0, stream, values.data());
    stream.fill(values.data(), 0, sizeof(unsigned));
    const gpu::Graph graph = stream.end_capture();
    for (int time = 0; time < 3; ++time) stream.replay(graph);
    gpu::launch(add_one, 1, 1, 0, stream, values.data());
    EXPECT_EQ(download(stream, values), (std::vector<unsigned>{1, 6, 6, 6}));
  }
}

TEST(EmulatedGraphs, WhatNoCaptureAllowsIsAnErrorAndSpoilsIt) {
  gpu::Device device;
  gpu::Stream stream(device);
  gpu::Event event(device);
  auto values = filled<uint32_t>(stream, 4, 0);
  stream.synchronize();
  const auto refused = [&](const auto& act) {
    stream.begin_capture();
    const std::string message = refusal_of(act);
    EXPECT_THAT(refusal_of([&] { stream.end_capture(); }),
                HasSubstr("a call was made that no capture allows"));
    return message;
  };
  EXPECT_THAT(refused([&] { stream.synchronize(); }),
              HasSubstr("cannot wait for a stream while work is captured"));
  EXPECT_THAT(refused([&] { download(stream, values); }), HasSubstr("cannot wait for a stream"));
  EXPECT_THAT(refused([&] { gpu::DeviceArray<int>(device, 1); }), HasSubstr("cannot allocate device memory"));
  EXPECT_THAT(refused([&] { stream.record(event); }), HasSubstr("cannot record an event"));
  EXPECT_THAT(refused([&] { stream.wait(event); }), HasSubstr("cannot wait for an event"));
  EXPECT_THAT(refused([&] { stream.begin_capture(); }), HasSubstr("cannot begin a capture"));
  auto released = std::make_unique<gpu::DeviceArray<int>>(device, 4);
  EXPECT_EQ(refused([&] { released.reset(); }), "") << "a destructor throws nothing";
  EXPECT_THAT(refusal_of([&] { stream.synchronize(); }), HasSubstr("cannot release device memory"));
  EXPECT_THAT(refusal_of([&] { stream.end_capture(); }), HasSubstr("no work is captured"));
  EXPECT_EQ(download(stream, values), std::vector<uint32_t>(4, 0)) << "the stream goes on";
}

// Arguments are checked when they are captured, and again when a graph starts: memory may be gone by then.
TEST(EmulatedGraphs, ArgumentsAreCheckedEachTime) {
  gpu::Device device;
  gpu::Stream stream(device);
  std::vector<unsigned> here(4);
  stream.begin_capture();
  EXPECT_THAT(refusal_of([&] { gpu::launch(add_one, 1, 1, 0, stream, here.data()); }),
              HasSubstr("is not into one array"));
  EXPECT_THAT(refusal_of([&] { gpu::launch(add_one, 1, 2000, 0, stream, nullptr); }),
              HasSubstr("cannot launch"));
  EXPECT_EQ(stream.end_capture().size(), 0u);
  Captured captured(stream);
  captured.there = {};
  EXPECT_THAT(refusal_of([&] { stream.replay(captured.graph); }), HasSubstr("is not into one array"));
}

}  // namespace

}  // namespace ps
