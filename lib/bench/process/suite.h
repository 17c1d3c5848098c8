// The suite `process`: it measures whole programs, from their start to their end, beside programs of others.
#ifndef PS_BENCH_PROCESS_SUITE_H_
#define PS_BENCH_PROCESS_SUITE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/synthetic.h"

namespace ps {

std::vector<Benchmark> training_benchmarks();         // training.cc: ps-train
std::vector<Benchmark> served_process_benchmarks();   // served.cc: ps-train through ps-serve
std::vector<Benchmark> process_datagen_benchmarks();  // datagen.cc: ps-datagen, and numpy

Benchmark liblinear_benchmark(const std::string& name);      // liblinear.cc
Benchmark vowpal_wabbit_benchmark(const std::string& name);  // vowpal_wabbit.cc

// The data of the bars, on which all benchmarks of logistic regression are trained.
inline const SyntheticKind kFortyLibsvm = {"sparse-binary", "libsvm", forty_ids()};
inline constexpr uint64_t kFortySamples = 1000000;

// Throws unless the loss on held-out data is below that of a model that has learned nothing, after training
// on `samples` examples.
void expect_learned(double held_out_loss, uint64_t samples);

// The names of the figures that are compared between programs.
inline constexpr const char* kHeldOutLoss = "held-out loss";
inline constexpr const char* kMegabytes = "MB";
inline constexpr const char* kCpuSeconds = "CPU s";

inline constexpr double kBytesOfMegabyte = 1e6;

}  // namespace ps

#endif  // PS_BENCH_PROCESS_SUITE_H_
