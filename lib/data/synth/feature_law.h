// Where the ids of synthetic examples come from, and what each says about the label.  Used by sparse-binary,
// sparse-float, ctr and criteo.
#ifndef PS_DATA_SYNTH_FEATURE_LAW_H_
#define PS_DATA_SYNTH_FEATURE_LAW_H_

#include <array>
#include <cstdint>
#include <vector>

#include "data/synth/key_set.h"
#include "data/synth/permutation.h"
#include "data/synth/zipf.h"

namespace ps {

// An id with its true weight: mean 0 over ids, deviation 1 for the frequent ones.
struct Feature {
  Key key;
  float weight;
};

// Ids in [first_key, first_key + num_keys).  The id of a rank of Zipf's law is a pseudorandom permutation of
// it, so that hot ids are spread; its true weight depends on (seed, id), and halves with every fourfold
// rank beyond 1024: nobody could learn the weights of ids that are seen once.  Constant after construction:
// any thread may draw.
class FeatureLaw {
 public:
  FeatureLaw(uint64_t seed, Key first_key, uint64_t num_keys, double zipf_exponent);

  uint64_t num_keys() const { return law_.num_ranks(); }

  Feature draw(ExampleRandom& random) const { return feature(law_.draw(random)); }

  // Calls sink(Feature) for `count` <= num_keys distinct ids, in the order drawn.
  template <class Sink>
  void draw_distinct(uint64_t count, ExampleRandom& random, KeySet& seen, Sink&& sink) const {
    seen.reset(count);  // of ranks, which are known before their ids
    // A steep law draws the same few ids for ever: after so many draws, the most frequent ids not yet drawn
    // follow, which is what drawing on would most likely have given.
    uint64_t draws = 16 * count + 64, taken = 0;
    for (; taken < count && draws > 0; --draws) {
      uint64_t rank = law_.draw(random);
      if (!seen.insert(rank)) continue;
      sink(feature(rank));
      ++taken;
    }
    for (uint64_t rank = 0; taken < count; ++rank) {
      if (!seen.insert(rank)) continue;
      sink(feature(rank));
      ++taken;
    }
  }

  Feature feature(uint64_t rank) const { return rank < hot_.size() ? hot_[rank] : compute(rank); }

 private:
  Feature compute(uint64_t rank) const;

  uint64_t seed_;
  Key first_key_;
  ZipfLaw law_;
  Permutation permutation_;
  std::array<float, 49> scales_;  // of true weights, by the number of bits of the rank
  std::vector<Feature> hot_;      // of the first ranks
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_FEATURE_LAW_H_
