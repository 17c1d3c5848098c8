// Sentences with a bigram law that can be learned, and whose entropy is known.
//
//   P(v | w) = 0.4 U(v) + 0.6 S_w(v)
//
// where U is Zipf's law over the vocabulary, and S_w is over eight words of w's own, themselves drawn from U,
// with weights 1, 1/2, …, 1/8.  A sentence begins with a word of the stationary law, so that every word of
// the text has it.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "config/json.h"
#include "data/synth/count_law.h"
#include "data/synth/generator.h"
#include "data/synth/zipf.h"

namespace ps {
namespace {

constexpr int64_t kMaxVocabulary = 1 << 20;  // three seconds to find the stationary law
constexpr double kZipfShare = 0.4;
constexpr size_t kSuccessors = 8;

// Returns U(r) = (r + 1)^-exponent / sum, for the words r in [0, words).
std::vector<double> zipf_probabilities(int64_t words, double exponent) {
  std::vector<double> probabilities;
  double sum = 0;
  for (int64_t r = 0; r < words; ++r)
    sum += probabilities.emplace_back(std::pow(static_cast<double>(r + 1), -exponent));
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

std::array<double, kSuccessors> successor_probabilities() {
  std::array<double, kSuccessors> out;
  double sum = 0;
  for (size_t j = 0; j < kSuccessors; ++j) sum += out[j] = 1.0 / static_cast<double>(j + 1);
  for (double& probability : out) probability /= sum;
  return out;
}

double entropy_term(double probability) {
  return probability > 0 ? -probability * std::log(probability) : 0;
}

double entropy(const std::vector<double>& probabilities) {
  double sum = 0;
  for (double probability : probabilities) sum += entropy_term(probability);
  return sum;
}

// Constant after construction: any thread may generate.
class Language : public Generator {
 public:
  Language(const SynthOptions& options, uint64_t seed)
      : seed_(seed),
        words_(static_cast<size_t>(*options.dim)),
        max_length_(options.nnz->maximum),
        lengths_(CountLaw::Shape::kUniform, options.nnz->minimum, options.nnz->maximum),
        zipf_(words_, *options.zipf),
        zipf_probabilities_(zipf_probabilities(*options.dim, *options.zipf)),
        successor_probabilities_(successor_probabilities()),
        successor_table_(successor_probabilities_) {
    traits_.schema.slots = {{"words", false, *options.dim}};
    traits_.content = DataTraits::kSentences;
    for (size_t w = 0; w < words_; ++w) {
      ExampleRandom random(seed, Purpose::kTruth, w);
      for (size_t j = 0; j < kSuccessors; ++j)
        successors_.push_back(static_cast<uint32_t>(zipf_.draw(random)));
    }
    stationary_ = stationary_law();
    stationary_table_ = AliasTable(stationary_);
  }

  const DataTraits& traits() const override { return traits_; }
  TruthKind truth_kind() const override { return TruthKind::kLogLoss; }
  int64_t max_row_values() const override { return max_length_; }

  void generate(uint64_t first, int64_t count, Sample& out) const override {
    out.batch.clear(traits_.schema);
    out.truth.clear();
    SlotData& slot = out.batch.slots[0];
    for (uint64_t i = first; i < first + static_cast<uint64_t>(count); ++i) {
      ExampleRandom random(seed_, Purpose::kExample, i);
      out.truth.push_back(static_cast<float>(draw_sentence(random, slot.keys)));
      out.batch.labels.push_back(0);
      slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
    }
  }

  Json facts() const override {
    double bigram = 0, unigram = entropy(stationary_), zipf = entropy(zipf_probabilities_);
    for (size_t w = 0; w < words_; ++w) bigram += stationary_[w] * next_word_entropy(w, zipf);
    return {{"bigram_entropy_nats", bigram},
            {"attainable_perplexity", std::exp(bigram)},
            {"unigram_entropy_nats", unigram},
            {"unigram_perplexity", std::exp(unigram)}};
  }

 private:
  // Appends a sentence's words and returns minus the logarithm of its probability, given its length.
  double draw_sentence(ExampleRandom& random, std::vector<Key>& keys) const {
    uint32_t length = lengths_.draw(random);
    if (length == 0) return 0;
    size_t word = stationary_table_.draw(random.next64());
    double log_loss = -std::log(stationary_[word]);
    keys.push_back(word);
    for (uint32_t i = 1; i < length; ++i) {
      size_t next = draw_next(random, word);
      log_loss -= std::log(next_word_probability(word, next));
      keys.push_back(word = next);
    }
    return log_loss;
  }

  size_t draw_next(ExampleRandom& random, size_t word) const {
    if (random.uniform() < kZipfShare) return zipf_.draw(random);
    return successors_[word * kSuccessors + successor_table_.draw(random.next64())];
  }

  double next_word_probability(size_t word, size_t next) const {
    double own = 0;
    for (size_t j = 0; j < kSuccessors; ++j) {
      if (successors_[word * kSuccessors + j] == next) own += successor_probabilities_[j];
    }
    return kZipfShare * zipf_probabilities_[next] + (1 - kZipfShare) * own;
  }

  // Returns the entropy of P(. | word) in nats.
  // If all words were drawn from kZipfShare U alone, the terms would sum to
  //   kZipfShare (H(U) - log kZipfShare)
  // Only the word's own successors have another probability, so their terms are exchanged, each once: the
  // sum needs kSuccessors steps and not as many as there are words.
  double next_word_entropy(size_t word, double zipf_entropy) const {
    double sum = kZipfShare * (zipf_entropy - std::log(kZipfShare));
    for (size_t j = 0; j < kSuccessors; ++j) {
      uint32_t next = successors_[word * kSuccessors + j];
      if (repeats_earlier(word, j)) continue;
      sum += entropy_term(next_word_probability(word, next)) -
             entropy_term(kZipfShare * zipf_probabilities_[next]);
    }
    return sum;
  }

  bool repeats_earlier(size_t word, size_t j) const {
    const uint32_t* own = &successors_[word * kSuccessors];
    return std::find(own, own + j, own[j]) != own + j;
  }

  // Computes the law that one step leaves unchanged by iteration: each step multiplies the distance to it
  // by 1 - kZipfShare.  A step gives word v the probability kZipfShare U(v), and from each word w with v
  // among its successors (1 - kZipfShare) law(w) times the weight of that successor.
  std::vector<double> stationary_law() const {
    std::vector<double> law = zipf_probabilities_, next;
    for (int step = 0; step < 50; ++step) {  // 0.6^50 < 1e-11
      next = zipf_probabilities_;
      for (double& probability : next) probability *= kZipfShare;
      for (size_t i = 0; i < successors_.size(); ++i) {
        next[successors_[i]] +=
            (1 - kZipfShare) * law[i / kSuccessors] * successor_probabilities_[i % kSuccessors];
      }
      law.swap(next);
    }
    return law;
  }

  const uint64_t seed_;
  const size_t words_;
  const int64_t max_length_;
  const CountLaw lengths_;
  const ZipfLaw zipf_;
  const std::vector<double> zipf_probabilities_;  // U
  const std::array<double, kSuccessors> successor_probabilities_;
  const AliasTable successor_table_;
  std::vector<uint32_t> successors_;  // [words, kSuccessors]
  std::vector<double> stationary_;
  AliasTable stationary_table_;
  DataTraits traits_;
};

SynthOptions defaults_language() {
  SynthOptions options;
  options.dim = 10'000;
  options.nnz = {5, 35};
  options.zipf = 1;
  return options;
}

std::unique_ptr<Generator> make_language(const SynthOptions& options, uint64_t seed) {
  if (*options.dim > kMaxVocabulary)
    fail(Code::kUsage, "--dim: language has at most ", kMaxVocabulary, " words");
  return std::make_unique<Language>(options, seed);
}

}  // namespace

extern const GeneratorEntry kLanguageGenerator = {
    "language",
    "sentences of words by Zipf's law, with a bigram law to learn; --dim words, --nnz words a sentence",
    "text", defaults_language, make_language};

}  // namespace ps
