// WordSampler: chooses the words of a text that training uses, and the reach of their contexts.  Used by the
// format `text`.
//
// Both follow word2vec (Mikolov et al., "Distributed representations of words and phrases and their
// compositionality", 2013, section 2.3, and its source).  Frequent words tell little and are left out at
// random.  Near words tell more than far ones, and count more if every context is cut at a random distance.
// Words that are left out still take up their place in a context: Levy et al., "Improving distributional
// similarity with lessons learned from word embeddings", 2015, find this as good as closing the gaps.
#ifndef PS_DATA_WORD_SAMPLER_H_
#define PS_DATA_WORD_SAMPLER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "data/options.h"
#include "data/vocabulary.h"

namespace ps {

// The seed, the word and its position in the file decide, so that every pass, trainer and thread draws the
// same.  Constant after construction; any thread may use it.
class WordSampler {
 public:
  WordSampler(const DataOptions& options, const Vocabulary& vocabulary)
      : on_(options.samples_words()),
        shrinks_(options.text.shrink_windows),
        longest_(static_cast<uint32_t>(std::max(options.text.context, options.text.context_after))),
        seed_(hash_key(options.sampling_seed ^ kUse)) {
    if (on_ && options.text.subsample > 0) set_rates(options.text.subsample, vocabulary);
  }

  // Returns how many words the context of a word reaches on each side, drawn at random if that is asked for; 0:
  // the word is left out.
  uint8_t reach(uint32_t id, uint64_t offset) const {
    if (!on_) return static_cast<uint8_t>(longest_);
    const uint64_t draw = hash_key(hash_key(seed_ + offset) + id);
    if (!rates_.empty() && static_cast<double>(draw >> 11) * 0x1p-53 >= rates_[id]) return 0;
    if (!shrinks_) return static_cast<uint8_t>(longest_);
    return static_cast<uint8_t>(1 + ((hash_key(draw) >> 32) * longest_ >> 32));
  }

  uint8_t longest() const { return static_cast<uint8_t>(longest_); }

 private:
  static constexpr uint64_t kUse = 0x776f7264;  // no other use of the seed has it

  // Sets the probability with which a word is kept, for each id.  Words without an id are treated as one word
  // of id 0.
  void set_rates(double threshold, const Vocabulary& vocabulary) {
    const double total = static_cast<double>(vocabulary.total());
    uint64_t others = vocabulary.total();
    rates_.push_back(1);
    for (uint32_t id = 1; id < vocabulary.size(); ++id) {
      const uint64_t count = vocabulary.word(id).count;
      others -= std::min(others, count);
      rates_.push_back(rate(threshold, static_cast<double>(count) / total));
    }
    rates_[0] = rate(threshold, static_cast<double>(others) / total);
  }

  // Returns the probability; with 1 or more, all occurrences are kept.
  static double rate(double threshold, double share) {
    return share > 0 ? std::sqrt(threshold / share) + threshold / share : 1;
  }

  const bool on_, shrinks_;
  const uint32_t longest_;
  const uint64_t seed_;
  std::vector<double> rates_;  // empty: all words stay
};

}  // namespace ps

#endif  // PS_DATA_WORD_SAMPLER_H_
