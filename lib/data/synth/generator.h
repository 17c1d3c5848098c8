// Synthetic data of several kinds.  Their law is known, so that the score of the best possible model is known
// too. Used by ps-datagen, benchmarks and tests.
//
// Adding a kind is a file that ends in one GeneratorEntry, and a line in catalog.cc.
#ifndef PS_DATA_SYNTH_GENERATOR_H_
#define PS_DATA_SYNTH_GENERATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/json.h"
#include "data/batch.h"
#include "data/synth/distinct_ranks.h"
#include "data/writer.h"

namespace ps {

// The parameters that a user may choose.  The defaults of a kind have a value for exactly the parameters that
// it uses.
struct SynthOptions {
  struct CountRange {
    int64_t minimum, maximum;
  };
  std::optional<int64_t> dim;           // ids, words or pixels: in [1, 2^48]
  std::optional<CountRange> nnz;        // ids or words in a row
  std::optional<double> zipf;           // exponent of the law of ids, >= 0
  std::optional<int64_t> slots;         // feature fields
  std::optional<int64_t> classes;       // number of classes of labels, >= 2
  std::optional<double> positive_rate;  // mean of 0/1 labels, in (0, 1)
  std::optional<double> interaction;    // share of the truth that is in pairs of ids, in [0, 1)

  // Copies the parameters that are set in `chosen`.  Throws kUsage for a parameter that this kind does not
  // use, or whose value is out of range.
  void apply(const SynthOptions& chosen, std::string_view kind);

  // Returns the parameters in use: {"dim": …}.
  Json to_json() const;
};

// The meaning of Sample::truth.
enum class TruthKind {
  kProbability,  // P(label = 1)
  kMean,         // expected label
  kClass,        // the answer of a classifier that knows the law
  kLogLoss,      // minus the log probability of the example's words under the law, in nats
};

// Examples, the truth about them, and scratch space.  Reused, it allocates nothing per example once it has
// grown.
struct Sample {
  Batch batch;
  std::vector<float> truth;  // [B]
  DistinctRanks row;
};

// Constant after construction: any thread may generate.
class Generator {
 public:
  virtual ~Generator() = default;

  // Describes the batches, for the writer.
  virtual const DataTraits& traits() const = 0;
  virtual TruthKind truth_kind() const = 0;

  // Replaces `out` by examples [first, first + count): each depends on its number and the seed, and on
  // nothing else.
  virtual void generate(uint64_t first, int64_t count, Sample& out) const = 0;

  // The most ids or values of one example; blocks are sized by it.
  virtual int64_t max_row_values() const = 0;

  // Returns an object of known facts about the law itself, for --truth.
  virtual Json facts() const { return Json::object(); }
};

struct GeneratorEntry {
  std::string_view name;           // KIND
  std::string_view help;           // one sentence, for lists and manuals
  std::string_view native_format;  // a writer's name
  SynthOptions (*defaults)();
  std::unique_ptr<Generator> (*make)(const SynthOptions& options, uint64_t seed);
};

std::span<const GeneratorEntry* const> generator_catalog();

// Throws kUsage with the names of all kinds.
const GeneratorEntry& find_generator(std::string_view name);

}  // namespace ps

#endif  // PS_DATA_SYNTH_GENERATOR_H_
