// The communicator over NCCL, with tests/support/nccl_test.cc in the place of NCCL: its ranks are threads, and their devices
// have memory of the host.  tests/e2e/nccl_test.sh trains with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "collective/device_exchange.h"
#include "collective/nccl_communicator.h"
#include "collective/nccl_library.h"
#include "support/thread_communicator.h"

namespace ps::nccl_test {
namespace {

using testing::HasSubstr;

class HostMemoryDevice final : public NcclDevice {
 public:
  void* allocate(uint64_t bytes) override {
    ++arrays_;
    return ::operator new(bytes);
  }
  void release(void* memory) noexcept override {
    --arrays_;
    ::operator delete(memory);
  }
  void send(void* to, const void* from, uint64_t bytes) override { copy(to, from, bytes); }
  void receive(void* to, const void* from, uint64_t bytes) override { copy(to, from, bytes); }
  void wait() override {}
  void* stream() override { return own_stream; }
  bool is_done() override { return true; }

  int arrays() const { return arrays_; }

  void* own_stream = nullptr;

 private:
  static void copy(void* to, const void* from, uint64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  int arrays_ = 0;
};

// Runs `body` on as many ranks, and returns what they throw.
std::vector<std::string> on_ranks(
    int size, const std::function<void(Communicator&)>& body,
    const std::function<void(int, NcclOptions&, HostMemoryDevice&)>& change = {}) {
  auto networks = make_thread_communicators({.size = size});
  std::vector<std::string> messages(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto device = std::make_shared<HostMemoryDevice>();
      NcclOptions options{.library = PS_NCCL_TEST_LIBRARY, .timeout = std::chrono::seconds(60)};
      if (change) change(rank, options, *device);
      std::string& message = messages[static_cast<size_t>(rank)];
      try {
        body(*make_nccl_communicator(std::move(networks[static_cast<size_t>(rank)]), device, options));
      } catch (const Error& error) {
        message = cat(static_cast<int>(error.code()), " ", error.message());
      }
      if (device->arrays() != 0) message += " and left memory on the device";
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

class NcclOnRanks : public testing::TestWithParam<int> {};

TEST_P(NcclOnRanks, SumsAreThoseOfAllRanksInTheirOrder) {
  const auto messages = on_ranks(GetParam(), [](Communicator& nccl) {
    const float own = static_cast<float>(nccl.rank() + 1) * 0.1f;
    std::vector<float> floats = {own, 1e8f * own, -0.0f};
    std::vector<float> expected = {0.1f, 1e8f * 0.1f, -0.0f};
    for (int rank = 1; rank < nccl.size(); ++rank) {
      const float other = static_cast<float>(rank + 1) * 0.1f;
      expected[0] += other, expected[1] += 1e8f * other;
    }
    nccl.all_reduce(floats);
    EXPECT_EQ(floats, expected);

    std::vector<float> there = {own, 1e8f * own, -0.0f}, more = {1};
    DeviceExchange* const device = device_exchange_of(nccl);
    ASSERT_NE(device, nullptr);
    device->all_reduce_there(std::vector<std::span<float>>{there, more});
    EXPECT_EQ(there, expected);
    EXPECT_EQ(more[0], static_cast<float>(nccl.size()));

    std::vector<int64_t> integers = {int64_t{1} << 60, nccl.rank()};
    nccl.all_reduce(integers);
    EXPECT_EQ(integers[0], (int64_t{1} << 60) * nccl.size());
    std::vector<double> doubles = {0.5};
    nccl.all_reduce(doubles);
    EXPECT_EQ(doubles[0], 0.5 * nccl.size());
    std::vector<float> none;
    nccl.all_reduce(none);
  });
  EXPECT_THAT(messages, testing::Each(""));
}

// Parts of one size are a call of NCCL, others a group of calls.
TEST_P(NcclOnRanks, PartsMayHaveAnySize) {
  const auto messages = on_ranks(GetParam(), [](Communicator& nccl) {
    const size_t size = static_cast<size_t>(nccl.size()), own = static_cast<size_t>(nccl.rank());
    for (const bool equal : {true, false}) {
      std::vector<size_t> counts;
      for (size_t rank = 0; rank < size; ++rank) counts.push_back(equal ? 2 : rank);
      const std::vector<ElementRange> parts = parts_of_counts(counts);
      std::vector<double> values(parts.back().end, static_cast<double>(own) + 1);
      nccl.reduce_scatter(values, counts);
      for (size_t i = 0; i < values.size(); ++i) {
        const bool is_own = i >= parts[own].begin && i < parts[own].end;
        EXPECT_EQ(values[i],
                  is_own ? static_cast<double>(size * (size + 1)) / 2 : static_cast<double>(own) + 1);
      }
      std::vector<int64_t> gathered(parts.back().end, -1), expected;
      for (size_t rank = 0; rank < size; ++rank)
        expected.insert(expected.end(), counts[rank], static_cast<int64_t>(rank));
      std::fill_n(gathered.begin() + static_cast<int64_t>(parts[own].begin), counts[own],
                  static_cast<int64_t>(own));
      nccl.all_gather(gathered, counts);
      EXPECT_EQ(gathered, expected);
    }
  });
  EXPECT_THAT(messages, testing::Each(""));
}

TEST_P(NcclOnRanks, ARootsArrayAndBytesReachAll) {
  const auto messages = on_ranks(GetParam(), [](Communicator& nccl) {
    std::vector<float> from_last = {static_cast<float>(nccl.rank()), 7};
    nccl.broadcast(from_last, nccl.size() - 1);
    EXPECT_EQ(from_last[0], static_cast<float>(nccl.size() - 1));
    const std::vector<std::string> texts = nccl.gather(std::string(static_cast<size_t>(nccl.rank()), 'x'));
    ASSERT_EQ(texts.size(), static_cast<size_t>(nccl.size()));
    EXPECT_EQ(texts.back().size(), texts.size() - 1);
    nccl.barrier();
  });
  EXPECT_THAT(messages, testing::Each(""));
}

INSTANTIATE_TEST_SUITE_P(Sizes, NcclOnRanks, testing::Values(1, 2, 3, 5));

TEST(Nccl, AllRanksSayWhichOneHasNoLibrary) {
  const auto nothing = [](Communicator&) {};
  for (const std::string& message :
       on_ranks(3, nothing, [](int rank, NcclOptions&options, HostMemoryDevice&) {
         if (rank == 1) options.library = "/nowhere/libnccl.so.2";
       })) {
    EXPECT_THAT(message,
                HasSubstr("2 trainer 1: cluster.nccl_library: cannot load '/nowhere/libnccl.so.2': "));
  }
  for (const std::string& message : on_ranks(
           2, nothing, [](int, NcclOptions&options, HostMemoryDevice&) { options.library = "libm.so.6"; })) {
    EXPECT_THAT(message,
                HasSubstr("2 trainer 0: cluster.nccl_library: 'libm.so.6' has no function ncclGetVersion"));
  }
}

TEST(Nccl, ALibraryForTheOtherKindOfDeviceIsRefused) {
  static int stream;
  for (const std::string& message : on_ranks(
           2, [](Communicator&) {},
           [](int, NcclOptions&, HostMemoryDevice& device) { device.own_stream = &stream; })) {
    EXPECT_THAT(message, HasSubstr("reaches the memory of emulated devices alone, and this device is a GPU"));
  }
}

TEST(Nccl, VersionsAreWrittenAsNvidiaDoes) {
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(21400), "2.14.0");
  EXPECT_EQ(nccl_version_text(2708), "2.7.8");
}

TEST(Nccl, ResultsHaveTheStatusOfTheirCause) {
  const NcclLibrary library = load_nccl(PS_NCCL_TEST_LIBRARY);
  const auto code = [&](NcclResult result) {
    try {
      check_nccl(library, result, nullptr, "ncclAllReduce");
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("NCCL's ncclAllReduce failed: "));
      return static_cast<int>(error.code());
    }
    return 0;
  };
  EXPECT_EQ(code(NcclResult::kSuccess), 0);
  EXPECT_EQ(code(NcclResult::kInProgress), 0);
  for (const NcclResult result :
       {NcclResult::kUnhandledCudaError, NcclResult::kSystemError, NcclResult::kRemoteError})
    EXPECT_EQ(code(result), static_cast<int>(Code::kUnavailable));
  for (const NcclResult result :
       {NcclResult::kInternalError, NcclResult::kInvalidArgument, NcclResult::kInvalidUsage})
    EXPECT_EQ(code(result), static_cast<int>(Code::kInternal));
}

}  // namespace
}  // namespace ps::nccl_test
