// The algorithms of gpu/algorithms.h keep their contract on arrays of many sizes.
#include "gpu/algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "gpu/device_data.h"
#include "test_device.h"

namespace ps {

namespace {

constexpr int64_t kSizes[] = {0, 1, 2, 31, 32, 33, 255, 1000, 4097};

class Algorithms : public testing::Test {
 protected:
  std::vector<uint64_t> keys(int64_t size, uint64_t bound) {
    std::vector<uint64_t> drawn(static_cast<size_t>(size));
    for (uint64_t& key : drawn) key = random_.below(bound) * 0x9e3779b97f4a7c15u;
    return drawn;
  }
  std::vector<uint32_t> numbers(int64_t size) {
    std::vector<uint32_t> drawn(static_cast<size_t>(size));
    for (uint32_t& number : drawn) number = random_.next32() >> 8;
    return drawn;
  }
  std::vector<float> floats(int64_t size) {
    std::vector<float> drawn(static_cast<size_t>(size));
    for (float& number : drawn) number = static_cast<float>(random_.uniform()) - 0.5f;
    return drawn;
  }

  // Sorts by some bits of the keys, and compares.
  template <class Key>
  void expect_sorted(const std::vector<Key>& given, int num_bits) {
    const int64_t size = std::ssize(given);
    std::vector<uint32_t> order(given.size());
    std::iota(order.begin(), order.end(), 0u);
    auto in_keys = upload(stream_, given);
    auto in_values = upload(stream_, order);
    gpu::DeviceArray<Key> out_keys(device_, size);
    gpu::DeviceArray<uint32_t> out_values(device_, size);
    gpu::sort_pairs<Key>(stream_, workspace_,
                         {in_keys.data(), in_values.data(), out_keys.data(), out_values.data(), size},
                         num_bits);
    const std::vector<Key> sorted = download(stream_, out_keys);
    const std::vector<uint32_t> places = download(stream_, out_values);
    const Key mask = ~Key{0} >> (8 * static_cast<int>(sizeof(Key)) - num_bits);
    for (size_t i = 0; i < sorted.size(); ++i) {
      ASSERT_EQ(sorted[i], given[places[i]]);
      if (i == 0) continue;
      ASSERT_LE(sorted[i - 1] & mask, sorted[i] & mask);
      ASSERT_TRUE((sorted[i - 1] & mask) != (sorted[i] & mask) || places[i - 1] < places[i]);
    }
  }

  gpu::Device device_{test_device::by_seed(0)};
  gpu::Stream stream_{device_};
  gpu::Workspace workspace_{device_};
  Random random_{1, 2};
};

TEST_F(Algorithms, SortsPairsAndKeepsEqualKeysInOrder) {
  for (int64_t size : kSizes) {
    const std::vector<uint64_t> wide = keys(size, 40);
    const std::vector<uint32_t> narrow = numbers(size);
    for (int num_bits : {64, 12}) ASSERT_NO_FATAL_FAILURE(expect_sorted(wide, num_bits));
    for (int num_bits : {32, 9}) ASSERT_NO_FATAL_FAILURE(expect_sorted(narrow, num_bits));
  }
}

TEST_F(Algorithms, ScansInPlaceToo) {
  for (int64_t size : kSizes) {
    const std::vector<uint32_t> given = numbers(size);
    auto in = upload(stream_, given);
    gpu::DeviceArray<uint32_t> out(device_, size);
    gpu::exclusive_scan(stream_, workspace_, in.data(), out.data(), size);
    gpu::exclusive_scan(stream_, workspace_, in.data(), in.data(), size);
    const std::vector<uint32_t> sums = download(stream_, out);
    EXPECT_EQ(download(stream_, in), sums);
    uint32_t sum = 0;
    for (size_t i = 0; i < given.size(); ++i) {
      ASSERT_EQ(sums[i], sum);
      sum += given[i];
    }
  }
}

TEST_F(Algorithms, FindsRuns) {
  for (int64_t size : kSizes) {
    std::vector<uint64_t> given = keys(size, 5);
    std::sort(given.begin(), given.end());
    auto in = upload(stream_, given);
    gpu::DeviceArray<uint64_t> run_keys(device_, size);
    gpu::DeviceArray<uint32_t> lengths(device_, size), num_runs(device_, 1);
    gpu::find_runs(stream_, workspace_, in.data(), size, run_keys.data(), lengths.data(), num_runs.data());
    const uint32_t runs = download(stream_, num_runs)[0];
    const std::vector<uint64_t> found = download(stream_, run_keys);
    const std::vector<uint32_t> counts = download(stream_, lengths);
    std::vector<uint64_t> spread;
    for (uint32_t i = 0; i < runs; ++i) {
      ASSERT_TRUE(i == 0 || found[i] != found[i - 1]);
      spread.insert(spread.end(), counts[i], found[i]);
    }
    EXPECT_EQ(spread, given);
  }
}

TEST_F(Algorithms, SelectsInOrder) {
  for (int64_t size : kSizes) {
    const std::vector<uint32_t> given = numbers(size);
    std::vector<uint8_t> flags(given.size());
    std::vector<uint32_t> expected;
    for (size_t i = 0; i < given.size(); ++i) {
      flags[i] = static_cast<uint8_t>(given[i] % 3);
      if (flags[i] != 0) expected.push_back(given[i]);
    }
    auto in = upload(stream_, given);
    auto chosen = upload(stream_, flags);
    gpu::DeviceArray<uint32_t> out(device_, size), count(device_, 1);
    gpu::select(stream_, workspace_, in.data(), chosen.data(), size, out.data(), count.data());
    std::vector<uint32_t> found = download(stream_, out);
    found.resize(download(stream_, count)[0]);
    EXPECT_EQ(found, expected);
  }
}

struct Shape {
  int64_t m, n, k;
};

TEST_F(Algorithms, MultipliesWithinItsBound) {
  for (const Shape& s : {Shape{0, 3, 2}, {1, 1, 1}, {3, 5, 7}, {17, 1, 33}, {2, 3, 0}, {32, 24, 40}}) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      const bool left = (transposed & 1) != 0, right = (transposed & 2) != 0;
      const std::vector<float> a = floats(s.m * s.k), b = floats(s.k * s.n), c = floats(s.m * s.n);
      auto on_a = upload(stream_, a), on_b = upload(stream_, b), on_c = upload(stream_, c);
      gpu::multiply(stream_, {on_a.data(), left ? s.m : s.k, left}, {on_b.data(), right ? s.k : s.n, right},
                    s.m, s.n, s.k, 0.5f, on_c.data(), s.n);
      const std::vector<float> found = download(stream_, on_c);
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          double sum = 0.5 * c[static_cast<size_t>(i * s.n + j)], size = std::abs(sum);
          for (int64_t p = 0; p < s.k; ++p) {
            const double product = double{a[static_cast<size_t>(left ? p * s.m + i : i * s.k + p)]} *
                                   double{b[static_cast<size_t>(right ? j * s.k + p : p * s.n + j)]};
            sum += product;
            size += std::abs(product);
          }
          ASSERT_NEAR(found[static_cast<size_t>(i * s.n + j)], sum,
                      static_cast<double>(s.k + 1) * 0x1p-23 * size);
        }
      }
    }
  }
}

}  // namespace

}  // namespace ps
