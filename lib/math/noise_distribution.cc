#include "math/noise_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ps {

NoiseDistribution::NoiseDistribution(Kind kind, int64_t classes) : kind_(kind), classes_(classes) {
  const double count = static_cast<double>(classes);
  log_total_ = std::log(kind == Kind::kLogUniform ? std::log1p(count) : count);
}

NoiseDistribution NoiseDistribution::uniform(int64_t classes) {
  return {Kind::kUniform, classes};
}

NoiseDistribution NoiseDistribution::log_uniform(int64_t classes) {
  return {Kind::kLogUniform, classes};
}

// Vose's algorithm.  Each class c begins with a column of height weights[c] / mean.  A column below 1 is filled
// up from one above 1, its alias, which loses as much; a column that falls below 1 by this waits to be filled
// up itself.
NoiseDistribution NoiseDistribution::of_weights(const std::vector<double>& weights) {
  NoiseDistribution out(Kind::kWeights, static_cast<int64_t>(weights.size()));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double count = static_cast<double>(weights.size());
  std::vector<uint32_t> low, high;
  for (uint32_t c = 0; c < weights.size(); ++c) {
    out.log_probability_.push_back(std::log(weights[c] / total));
    out.acceptance_.push_back(weights[c] / total * count);
    out.alias_.push_back(c);
    (out.acceptance_[c] < 1 ? low : high).push_back(c);
  }
  while (!low.empty() && !high.empty()) {
    uint32_t filled = low.back(), giver = high.back();
    low.pop_back();
    out.alias_[filled] = giver;
    out.acceptance_[giver] -= 1 - out.acceptance_[filled];
    if (out.acceptance_[giver] >= 1) continue;
    high.pop_back();
    low.push_back(giver);
  }
  return out;
}

// With weights, this draws a column, and keeps its class with the probability to which the column is its
// own; else it gives the alias.
int64_t NoiseDistribution::draw(Random& random) const {
  if (kind_ == Kind::kLogUniform) {
    // u in [0, 1) -> [1, classes + 1), whose logarithm is uniform.
    double rank = std::exp(random.uniform() * std::log1p(static_cast<double>(classes_)));
    return std::min(static_cast<int64_t>(rank) - 1, classes_ - 1);
  }
  uint64_t c = random.below(static_cast<uint64_t>(classes_));
  if (kind_ == Kind::kUniform || random.uniform() < acceptance_[c]) return static_cast<int64_t>(c);
  return alias_[c];
}

// In the log-uniform distribution, P(c) = log((c + 2) / (c + 1)) / log(C + 1) is the part of the logarithms
// that belongs to [c + 1, c + 2), the ranks that draw rounds down to c.
double NoiseDistribution::log_probability(int64_t c) const {
  if (kind_ == Kind::kWeights) return log_probability_[static_cast<size_t>(c)];
  if (kind_ == Kind::kUniform) return -log_total_;
  return std::log(std::log1p(1 / static_cast<double>(c + 1))) - log_total_;
}

}  // namespace ps
