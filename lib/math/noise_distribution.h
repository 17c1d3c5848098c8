// NoiseDistribution: the distribution from which noise-contrastive estimation draws wrong answers.  Used by
// the layer nce and by its kernel.
#ifndef PS_MATH_NOISE_DISTRIBUTION_H_
#define PS_MATH_NOISE_DISTRIBUTION_H_

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace ps {

// Constant after construction: any thread may draw.
class NoiseDistribution {
 public:
  static NoiseDistribution uniform(int64_t classes);

  // Zipf's law for classes numbered by falling frequency: P(c) = log((c + 2) / (c + 1)) / log(classes + 1).
  static NoiseDistribution log_uniform(int64_t classes);

  // P(c) in proportion to weights[c], all positive.
  static NoiseDistribution of_weights(const std::vector<double>& weights);

  int64_t draw(Random& random) const;
  double log_probability(int64_t c) const;

 private:
  enum class Kind { kUniform, kLogUniform, kWeights };
  NoiseDistribution(Kind kind, int64_t classes);

  Kind kind_;
  int64_t classes_;
  double log_total_;  // divisor of the probabilities, as a logarithm; kWeights needs none

  // For kWeights: Walker's alias method, with Vose's set-up, "A linear algorithm for generating random
  // numbers with a given distribution", 1991: draw a class c uniformly; keep it with probability
  // acceptance_[c], else take alias_[c].
  std::vector<double> log_probability_, acceptance_;
  std::vector<uint32_t> alias_;
};

}  // namespace ps

#endif  // PS_MATH_NOISE_DISTRIBUTION_H_
