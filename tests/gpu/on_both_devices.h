// Runs kernels on the processor and on a device, with the same arrays, and compares.  Used by the tests of the
// kernels of models.
#ifndef PS_TESTS_GPU_ON_BOTH_DEVICES_H_
#define PS_TESTS_GPU_ON_BOTH_DEVICES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "math/device_buffer.h"
#include "model/cuda/gpu_kernels.h"
#include "test_device.h"

namespace ps {

inline constexpr uint64_t kShapes = 200;

inline std::shared_ptr<DeviceKernels> device_kernels(uint64_t seed) {
  return make_gpu_kernels(std::make_unique<gpu::Device>(test_device::with_few_threads(seed)));
}

// Holds the arrays that a kernel is given, and those that it gives, on one device.
class Desk {
 public:
  explicit Desk(Device& on) : device(on) {}

  template <class T>
  T* put(const std::vector<T>& values) {
    auto buffer = std::make_shared<DeviceBuffer<T>>();
    buffer->resize(device, std::ssize(values));
    if (device.kernels() == nullptr) {
      std::copy(values.begin(), values.end(), buffer->data());
    } else {
      device.kernels()->send(buffer->data(), values.data(), buffer->bytes());
      device.kernels()->wait();
    }
    buffers_.push_back(buffer);
    return buffer->data();
  }

  // An array that the kernel writes or adds to.
  float* put_result(const std::vector<float>& values) {
    float* const data = put(values);
    results_.push_back({data, values.size()});
    return data;
  }

  std::vector<std::vector<float>> results() {
    std::vector<std::vector<float>> all;
    for (const auto& [data, size] : results_) {
      std::vector<float>& values = all.emplace_back(size);
      if (device.kernels() == nullptr) {
        std::copy_n(data, size, values.data());
      } else {
        device.kernels()->receive(values.data(), data, size * sizeof(float));
      }
    }
    return all;
  }

  Device& device;

 private:
  std::vector<std::shared_ptr<void>> buffers_;
  std::vector<std::pair<float*, size_t>> results_;
};

inline std::vector<float> draw(Random& random, int64_t size) {
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

inline int64_t draw_size(Random& random, uint64_t most) {
  return static_cast<int64_t>(random.below(most + 1));
}

// Runs the same on the processor and on a device, and returns the results of both.
struct Results {
  std::vector<std::vector<float>> here, there;
};

inline Results run_on_both(uint64_t seed, const std::function<void(Desk&)>& body) {
  Device host(1, best_cpu_level());
  Device device(host, device_kernels(seed));
  Desk here(host), there(device);
  body(here);
  device.kernels()->begin_batch();
  body(there);
  return {here.results(), there.results()};
}

// Fails unless `same` holds for each value and what the processor gives in its place.
inline void expect_same(uint64_t seed, const std::function<void(Desk&)>& body,
                        const std::function<bool(float, float)>& same) {
  const Results results = run_on_both(seed, body);
  ASSERT_EQ(results.here.size(), results.there.size());
  for (size_t r = 0; r < results.here.size(); ++r) {
    ASSERT_EQ(results.here[r].size(), results.there[r].size());
    for (size_t i = 0; i < results.here[r].size(); ++i) {
      ASSERT_TRUE(same(results.there[r][i], results.here[r][i]))
          << "seed " << seed << ": value " << i << " of result " << r << ": " << results.there[r][i]
          << ", and on the processor " << results.here[r][i];
    }
  }
}

inline bool has_bits_of(float x, float y) {
  return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
}

inline void expect_same_bits(uint64_t seed, const std::function<void(Desk&)>& body) {
  expect_same(seed, body, has_bits_of);
}

// For kernels with functions such as exp, which are 2 units in the last place apart where a device has its own: 2^-22 of
// their value, or of the terms of size 1, such as probabilities, that a result is a difference of.  Up to eight of these
// come together in a value.
inline void expect_same_functions(uint64_t seed, const std::function<void(Desk&)>& body) {
  if (test_device::kSameFunctions) return expect_same_bits(seed, body);
  expect_same(seed, body, [](float x, float y) {
    return has_bits_of(x, y) || std::fabs(x - y) <= 0x1p-19f * std::max(1.0f, std::fabs(y));
  });
}

// The same within `bound` times the largest value of each result, where sums run in another order on a device.
inline void expect_close(uint64_t seed, float bound, const std::function<void(Desk&)>& body) {
  const Results results = run_on_both(seed, body);
  for (size_t r = 0; r < results.here.size(); ++r) {
    float largest = 1e-2f;
    for (float value : results.here[r]) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < results.here[r].size(); ++i) {
      ASSERT_NEAR(results.there[r][i], results.here[r][i], bound * largest)
          << "seed " << seed << ": value " << i << " of result " << r;
    }
  }
}

// Small whole numbers, of which every sum is exact in any order.
inline std::vector<float> draw_whole(Random& random, int64_t size) {
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = static_cast<float>(draw_size(random, 8)) - 4;
  return values;
}

}  // namespace ps

#endif  // PS_TESTS_GPU_ON_BOTH_DEVICES_H_
