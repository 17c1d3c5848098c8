// The suites `codec`, in which every codec of the catalogue encodes gradients and decodes them, and `dgc`,
// which times the work of Deep Gradient Compression on one trainer.
#ifndef PS_BENCH_CODEC_SUITE_H_
#define PS_BENCH_CODEC_SUITE_H_

#include <vector>

#include "bench/benchmark.h"

namespace ps {

std::vector<Benchmark> codec_benchmarks();      // codecs.cc
std::vector<Benchmark> selection_benchmarks();  // selections.cc: the largest of many values
std::vector<Benchmark> dgc_step_benchmarks();   // dgc_step.cc: a whole local step

// Returns normal numbers, a share of which are a hundred times as large, as in gradients.
std::vector<float> bench_gradient(size_t size, uint64_t stream);

}  // namespace ps

#endif  // PS_BENCH_CODEC_SUITE_H_
