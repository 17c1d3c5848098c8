// Files of benchmarks of whole processes: data that is made once a machine.
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

// Examples in files, and others of the same law, which nothing is trained on.
struct DataFiles {
  std::string train, held_out;
  uint64_t samples = 0, held_out_samples = 0;
  int64_t dim = 0;
  uint64_t bytes = 0;  // of `train`
};

// scale * full_samples examples, as ps-datagen writes them, from the folder settings.cache, or made there.  A
// file's name holds a hash of its first examples: what another version would write is another file.
DataFiles cached_data(const BenchSettings& settings, const SyntheticKind& kind, uint64_t full_samples);

// Makes the files for a peer that reads another format: `rewrite` appends each line of libsvm in that format.
// They are made once, in the same folder.
using RewriteLine = std::function<void(std::string_view line, std::string& out)>;
DataFiles cached_rewrite(const DataFiles& files, const std::string& suffix, const RewriteLine& rewrite);

// The labels of lines of libsvm.
std::vector<float> labels_of(const std::string& path);

}  // namespace ps

#endif  // PS_BENCH_PROCESS_FILES_H_
