// Synthetic data in memory, with a digest of what its reader must find.  Used by the suites parse, datagen
// and train.
#ifndef PS_BENCH_SYNTHETIC_H_
#define PS_BENCH_SYNTHETIC_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "data/batch.h"
#include "data/options.h"
#include "data/synth/generator.h"

namespace ps {

// A digest of some examples that does not depend on the order of ids within a row.
struct Digest {
  uint64_t examples = 0, keys = 0;
  uint64_t key_sum = 0;  // sum of the ids, modulo 2^64
  double label_sum = 0, value_sum = 0;

  void add(const Batch& batch);

  // Throws kInternal unless all members agree with `expected`.  Without `ids` key_sum is not compared: the
  // format keeps hashes of the ids.
  void expect(const Digest& expected, bool ids) const;
};

struct SyntheticData {
  std::string bytes;    // text or records in the format
  Digest digest;        // digest of the examples
  DataOptions options;  // options for a reader of the bytes

  Work parsing() const;   // the work of reading each byte once
  Work training() const;  // the work of training on each id once, which also reads the fewest random lines
};

// A kind of synthetic data with its format, as ps-datagen writes it.
struct SyntheticKind {
  std::string kind;    // name in generator_catalog()
  std::string format;  // name in writer_catalog()
  SynthOptions chosen = {};
  bool four_digits = false;  // values are rounded to three decimals, as in most files
};

// Returns the examples that the bars of pskit are for: 40 ids out of 18 million, by Zipf's law with exponent
// 1.1.
SynthOptions forty_ids();

// Returns scale * full, but at least 1.
uint64_t scaled_samples(double scale, uint64_t full);

// Makes the generator of a kind.  The number of ids is multiplied by the scale, as the number of examples is.
std::unique_ptr<Generator> make_generator(const SyntheticKind& kind, double scale);

// Makes scale * full_samples examples.
SyntheticData make_synthetic(const SyntheticKind& kind, double scale, uint64_t full_samples);

}  // namespace ps

#endif  // PS_BENCH_SYNTHETIC_H_
