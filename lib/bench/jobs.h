// The jobs that benchmarks train: models and optimizers as a job file has them, written once for all suites.
#ifndef PS_BENCH_JOBS_H_
#define PS_BENCH_JOBS_H_

#include <string>

#include "config/json.h"
#include "data/synth/generator.h"
#include "job/job.h"

namespace ps {

// The values "model" and "optimizer" of a job file.
struct ModelAndOptimizer {
  Json model, optimizer;
};

// Models on one slot of ids, named "features".
Json logistic_model();       // a weight for each id
Json factorization_model();  // logistic_model(), and a factorization machine with vectors of 8
// Rows of `width` weights, summed, and one weight for each column of the sum
Json embedding_model(int width);
Json demo_model();  // PaddlePaddle's sparse_binary demo: share/jobs/sparse_binary.json

// Wide & deep on data like Criteo's: share/jobs/criteo_wide_deep.json.
Json wide_deep_model();

Json adagrad(double learning_rate, double epsilon);
Json demo_optimizer();

// Returns the whole of share/jobs/sparse_binary.json, with its evaluators.
ModelAndOptimizer demo_job();

// Returns options with as many examples, ids in them and labels 1 as the data of the demo have: 2002, 100 on
// average, 4.
SynthOptions demo_ids();
inline constexpr uint64_t kDemoSamples = 2002;
inline constexpr int kDemoBatch = 200;

// Makes a job for training in this process, over data in memory; it saves and prints nothing.  `strategy`
// becomes its train.strategy.
Job memory_job(const std::string& name, const ModelAndOptimizer& what,
               const Json& strategy = {{"type", "parameter_server"}});

// Returns a job file for training in a process of its own: it trains one pass and saves the model at its end.
Json process_job(const ModelAndOptimizer& what, const std::string& format, int batch_size);

}  // namespace ps

#endif  // PS_BENCH_JOBS_H_
