// The texts that the suite `parse` is measured on.
#ifndef PS_BENCH_PARSE_TEXT_H_
#define PS_BENCH_PARSE_TEXT_H_

#include "bench/synthetic.h"

namespace ps {

inline const SyntheticKind kLibsvmBinary = {"sparse-binary", "libsvm", forty_ids()};
inline const SyntheticKind kLibsvmValues = {"sparse-float", "libsvm", forty_ids(), true};

// Examples at full size: some 80 MB of text, which no cache holds.
inline constexpr uint64_t kParsedExamples = 200000;

}  // namespace ps

#endif  // PS_BENCH_PARSE_TEXT_H_
