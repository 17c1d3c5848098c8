// Files of data for benchmarks of whole processes, made once on each machine.  Used by the suite `process`.
#ifndef PS_BENCH_PROCESS_FILES_H_
#define PS_BENCH_PROCESS_FILES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/temporary_folder.h"
#include "bench/benchmark.h"
#include "bench/synthetic.h"

namespace ps {

// Examples in files for training, and others of the same law that nothing is trained on.
struct DataFiles {
  std::string train, held_out;
  uint64_t samples = 0, held_out_samples = 0;
  int64_t dim = 0;
  uint64_t bytes = 0;  // size of `train`
};

// Returns files of scale * full_samples examples, as ps-datagen writes them.  They are in the folder
// settings.cache, and are made if they do not exist.  The name of a file contains a hash of its first
// examples, so that a version which writes other examples uses another file.
DataFiles cached_data(const BenchSettings& settings, const SyntheticKind& kind, uint64_t full_samples);

// Makes the files for a peer that reads another format, in the same folder, if they do not exist.  `rewrite`
// appends each line of libsvm in that format.
using RewriteLine = std::function<void(std::string_view line, std::string& out)>;
DataFiles cached_rewrite(const DataFiles& files, const std::string& suffix, const RewriteLine& rewrite);

// Returns the labels of the lines of a libsvm file.
std::vector<float> labels_of(const std::string& path);

}  // namespace ps

#endif  // PS_BENCH_PROCESS_FILES_H_
