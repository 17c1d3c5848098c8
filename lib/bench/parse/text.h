// The texts that the suite `parse` is measured on.  Used by its sources.
#ifndef PS_BENCH_PARSE_TEXT_H_
#define PS_BENCH_PARSE_TEXT_H_

#include <cstdint>
#include <string>

#include "bench/synthetic.h"

namespace ps {

inline const SyntheticKind kLibsvmBinary = {"sparse-binary", "libsvm", forty_ids()};
inline const SyntheticKind kLibsvmValues = {"sparse-float", "libsvm", forty_ids(), true};

// The number of examples at full size: some 80 MB of text, which no cache holds.
inline constexpr uint64_t kParsedExamples = 200000;

// Makes scale * full_samples rows of the generator criteo as csv or jsonl, without a header.  The digest
// counts the generator's ids, which differ from the ids that parsers make.
SyntheticData make_table(const std::string& format, double scale, uint64_t full_samples);  // tables.cc

// Makes a csv of 28 numbers with so many decimals, without a header.
SyntheticData make_number_table(int decimals, double scale, uint64_t full_samples);  // tables.cc

// Makes a csv of words and integers, as in a census, without a header; words are in quotes if `quoted`.
SyntheticData make_census_table(bool quoted, double scale, uint64_t full_samples);  // tables.cc

}  // namespace ps

#endif  // PS_BENCH_PARSE_TEXT_H_
