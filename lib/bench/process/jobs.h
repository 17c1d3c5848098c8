// Jobs that several benchmarks of whole processes train.  Used by the suite `process`.
#ifndef PS_BENCH_PROCESS_JOBS_H_
#define PS_BENCH_PROCESS_JOBS_H_

#include <string>

#include "config/fwd.h"
#include "data/synth/generator.h"

namespace ps {

inline constexpr const char* kLogisticJob = R"({
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1, "sparse_update": true,
                "weight": {"init": {"type": "zero"}}}],
    "cost": {"type": "binary_cross_entropy", "input": "score"}},
  "optimizer": {"type": "adagrad", "learning_rate": 0.1, "epsilon": 1}})";

// share/jobs/sparse_binary.json: PaddlePaddle's demo.
inline constexpr const char* kDemoJob = R"({
  "model": {
    "layers": [{"name": "hidden1", "type": "fc", "input": "features", "size": 256, "activation": "tanh",
                "sparse_update": true},
               {"name": "hidden2", "type": "fc", "input": "hidden1", "size": 32, "activation": "tanh"},
               {"name": "output", "type": "fc", "input": "hidden2", "size": 2, "activation": "softmax"}],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["classification_error", "auc"]},
  "optimizer": {"type": "sparse_momentum", "momentum": 0.9, "learning_rate": 0.001}})";

// As many examples, ids in them and labels 1 as the demo's data have: 2002, 100 on average, 4.
SynthOptions demo_ids();
inline constexpr uint64_t kDemoSamples = 2002;
inline constexpr int kDemoBatch = 200;

// `text`, model and optimizer, with what the others have in common: one pass, saved at its end.
Json process_job(const char* text, const std::string& format, int batch_size);

}  // namespace ps

#endif  // PS_BENCH_PROCESS_JOBS_H_
