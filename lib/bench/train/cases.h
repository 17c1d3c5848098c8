// Shared by the benchmarks of training: sizes, and readers of data in memory.
#ifndef PS_BENCH_TRAIN_CASES_H_
#define PS_BENCH_TRAIN_CASES_H_

#include <memory>

#include "bench/memory_file.h"
#include "bench/synthetic.h"
#include "data/reader.h"

namespace ps {

inline const SyntheticKind kFortyRecords = {"sparse-binary", "records", forty_ids()};
inline constexpr int64_t kIdsOfForty = 40;
inline constexpr uint64_t kEmbeddingSamples = 200000;  // at full size
inline constexpr int kTrainBatchSize = 1024;

// Reads the data once, and gives passes over what it keeps.
std::unique_ptr<BatchReader> reader_of(const SyntheticData& data, const MemoryFile& file, int batch_size,
                                       int threads);

}  // namespace ps

#endif  // PS_BENCH_TRAIN_CASES_H_
