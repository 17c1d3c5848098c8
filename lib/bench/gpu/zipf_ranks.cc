#include "bench/gpu/zipf_ranks.h"

#include <algorithm>

#include "data/synth/zipf.h"

namespace ps {

// With an exponent near 1, a few ranks have a large share of the look-ups, while most ranks come once or
// never.  The seed is fixed, so that a device and the processor get the same ranks.
std::vector<uint64_t> zipf_ranks(uint64_t num_ranks, int64_t count) {
  constexpr double kExponent = 1.05;
  const ZipfLaw law(num_ranks, kExponent);
  ExampleRandom random(1, Purpose::kExample, 0);
  std::vector<uint64_t> ranks(static_cast<size_t>(count));
  for (uint64_t& rank : ranks) rank = law.draw(random);
  return ranks;
}

uint64_t count_distinct(std::span<const uint64_t> ranks) {
  std::vector<uint64_t> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  return static_cast<uint64_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
}

}  // namespace ps
