#include "data/synth/feature_law.h"

#include <algorithm>
#include <cmath>

namespace ps {

// 16 KB: they fit the first-level cache.
constexpr uint64_t kHotRanks = ZipfLaw::kSingleRanks;
constexpr int kLearnableBits = 10;

FeatureLaw::FeatureLaw(uint64_t seed, Key first_key, uint64_t num_keys, double zipf_exponent)
    : seed_(hash_key(seed + 0x9e3779b97f4a7c15ULL)),
      first_key_(first_key),
      law_(num_keys, zipf_exponent),
      permutation_(num_keys, seed, first_key) {
  // Uniform weights in +-sqrt(3) have deviation 1; see feature.
  for (int bits = 0; bits < static_cast<int>(scales_.size()); ++bits) {
    double shrink = std::exp2(-0.5 * std::max(0, bits - kLearnableBits));
    scales_[static_cast<size_t>(bits)] = static_cast<float>(std::sqrt(3.0) * shrink * 0x1p-31);
  }
  hot_.reserve(std::min(num_keys, kHotRanks));
  for (uint64_t rank = 0; rank < std::min(num_keys, kHotRanks); ++rank) hot_.push_back(feature(rank));
}

}  // namespace ps
