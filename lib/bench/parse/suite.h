// The suite `parse`: it turns text into examples.
#ifndef PS_BENCH_PARSE_SUITE_H_
#define PS_BENCH_PARSE_SUITE_H_

#include <vector>

#include "bench/benchmark.h"

namespace ps {

std::vector<Benchmark> parser_benchmarks();  // parser.cc: blocks of text in memory
std::vector<Benchmark> strtod_benchmarks();  // strtod.cc: the peer of the parsers
std::vector<Benchmark> reader_benchmarks();  // reader.cc: a file to batches

}  // namespace ps

#endif  // PS_BENCH_PARSE_SUITE_H_
