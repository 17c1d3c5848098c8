// The oracle of merging: the gradients of each key added up in the order in which they stand.
#ifndef PS_TESTS_GPU_MERGED_GRADIENTS_H_
#define PS_TESTS_GPU_MERGED_GRADIENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace ps {

// gradients [keys, width] -> by key: [width].
inline std::map<uint64_t, std::vector<float>> merged_gradients(std::span<const uint64_t> keys,
                                                               const float* gradients, size_t width) {
  std::map<uint64_t, std::vector<float>> sums;
  for (size_t i = 0; i < keys.size(); ++i) {
    const float* gradient = gradients + i * width;
    auto [sum, is_new] = sums.try_emplace(keys[i], gradient, gradient + width);
    for (size_t c = 0; !is_new && c < width; ++c) sum->second[c] += gradient[c];
  }
  return sums;
}

}  // namespace ps

#endif  // PS_TESTS_GPU_MERGED_GRADIENTS_H_
