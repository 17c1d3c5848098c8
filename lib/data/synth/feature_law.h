// FeatureLaw: draws the ids of synthetic examples, and gives each id its true weight for the label.  Used by
// sparse-binary, sparse-float, ctr and criteo.
#ifndef PS_DATA_SYNTH_FEATURE_LAW_H_
#define PS_DATA_SYNTH_FEATURE_LAW_H_

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "data/batch.h"
#include "data/synth/distinct_ranks.h"
#include "data/synth/permutation.h"
#include "data/synth/zipf.h"

namespace ps {

// An id with its true weight: mean 0 over ids, deviation 1 for the frequent ones.
struct Feature {
  Key key;
  float weight;
};

// Ids in [first_key, first_key + num_keys).  The id of a rank of Zipf's law is a pseudorandom permutation of
// it, so that hot ids are spread; its true weight depends on (seed, id), and halves with every fourfold rank
// beyond 1024, since no model can learn the weights of ids that are seen once.  Constant after construction:
// any thread may draw.
class FeatureLaw {
 public:
  FeatureLaw(uint64_t seed, Key first_key, uint64_t num_keys, double zipf_exponent);

  uint64_t num_keys() const { return law_.num_ranks(); }

  // Looks frequent ranks up in a table, since the law has already tested if the rank is a frequent one.
  Feature draw(ExampleRandom& random) const {
    uint64_t rank = law_.draw(random);
    return rank < hot_.size() ? hot_[rank] : feature(rank);
  }

  // Calls sink(Feature) for `count` <= num_keys distinct ids, in the order drawn.
  template <class Sink>
  void draw_distinct(uint64_t count, ExampleRandom& random, DistinctRanks& row, Sink&& sink) const {
    if (count == 1) return sink(draw(random));
    row.draw(law_, count, Coins::kNone, random);
    for (uint64_t rank : row.ranks()) sink(feature(rank));
  }

  // The same, with 64 random bits for each: sink(Feature, uint64_t).
  template <class Sink>
  void draw_distinct_and_coins(uint64_t count, ExampleRandom& random, DistinctRanks& row, Sink&& sink) const {
    row.draw(law_, count, Coins::kOneEach, random);
    for (size_t i = 0; i < row.ranks().size(); ++i) sink(feature(row.ranks()[i]), row.coins()[i]);
  }

  // Computes the feature of any rank, for whole rows: a look-up of the frequent ranks would cost a branch
  // that predictors cannot guess.
  Feature feature(uint64_t rank) const {
    Key key = first_key_ + permutation_(rank);
    int32_t uniform = static_cast<int32_t>(hash_key(key ^ seed_) >> 32);
    return {key, static_cast<float>(uniform) * scales_[bit_width(rank)]};
  }

 private:
  // std::bit_width for numbers below 2^52, from the exponent of a double, without a branch for 0.
  static size_t bit_width(uint64_t value) {
    return (std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(2 * value + 1))) >> 52) - 1023;
  }

  uint64_t seed_;
  Key first_key_;
  ZipfLaw law_;
  Permutation permutation_;
  std::array<float, 49> scales_;  // scale of true weights, by the number of bits of the rank
  std::vector<Feature> hot_;      // the features of the first ranks
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_FEATURE_LAW_H_
