// The data and sizes that the benchmarks of training share.  Used by the suite `train`.
#ifndef PS_BENCH_TRAIN_CASES_H_
#define PS_BENCH_TRAIN_CASES_H_

#include "bench/synthetic.h"

namespace ps {

inline const SyntheticKind kFortyRecords = {"sparse-binary", "records", forty_ids()};
inline constexpr int64_t kIdsOfForty = 40;
inline constexpr uint64_t kEmbeddingSamples = 200000;  // number of examples at full size
inline constexpr int kTrainBatchSize = 1024;

}  // namespace ps

#endif  // PS_BENCH_TRAIN_CASES_H_
