// Data to measure on, made in memory, with what a reader of it must find.  Used by the suites parse, datagen
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
  uint64_t key_sum = 0;  // modulo 2^64
  double label_sum = 0, value_sum = 0;

  void add(const Batch& batch);

  // Throws kInternal unless all agree; without `ids` key_sum is not looked at: the format keeps hashes of
  // them.
  void expect(const Digest& expected, bool ids) const;
};

struct SyntheticData {
  std::string bytes;    // in the format
  Digest digest;        // of the examples
  DataOptions options;  // to read it with

  Work parsing() const;   // each byte once
  Work training() const;  // each id once, which is also the least of random lines
};

// A kind of synthetic data with its format, as ps-datagen writes it.  Shared by the benchmarks on that data.
struct SyntheticKind {
  std::string kind;    // of generator_catalog()
  std::string format;  // of writer_catalog()
  SynthOptions chosen = {};
  bool four_digits = false;  // values rounded to three decimals, which most files have
};

// The rows of the bars that pskit is held to: 40 ids out of 18 million, by Zipf's law with exponent 1.1.
SynthOptions forty_ids();

// scale * full, and at least 1.
uint64_t scaled_samples(double scale, uint64_t full);

// The generator of a kind; the number of ids goes with the scale, as the number of examples does.
std::unique_ptr<Generator> make_generator(const SyntheticKind& kind, double scale);

// scale * full_samples examples.
SyntheticData make_synthetic(const SyntheticKind& kind, double scale, uint64_t full_samples);

}  // namespace ps

#endif  // PS_BENCH_SYNTHETIC_H_
