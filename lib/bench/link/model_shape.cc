#include "bench/link/model_shape.h"

#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "job/job.h"
#include "model/network.h"
#include "optim/parameter.h"

namespace ps {

namespace {

constexpr const char* kFasterRcnn = "faster-rcnn";

// Returns the detector of PaddlePaddle's table on DGC: 264 MB a step, which follows from its rows of 1 and 10
// Gbit/s.  The table does not say how the values are divided into tensors.
ModelShape faster_rcnn() {
  constexpr int kLayers = 63, kSize = 1024;
  ModelShape model{.name = kFasterRcnn, .tensors = {}};
  for (int i = 0; i < kLayers; ++i) {
    model.tensors.push_back({kSize, kSize});
    model.tensors.push_back({1, kSize});
  }
  return model;
}

// Returns the path of a job file in the folder `nets` that comes with the programs.
std::optional<std::string> find_net(const std::string& name) {
  const std::string folder = job_folder();
  if (folder.empty() || name.find('/') != std::string::npos) return std::nullopt;
  const std::string file = join_path(folder, cat("nets/", name, ".json"));
  return exists(file) ? std::optional(file) : std::nullopt;
}

}  // namespace

uint64_t ModelShape::elements() const {
  uint64_t sum = 0;
  for (const TensorShape& tensor : tensors) sum += static_cast<uint64_t>(tensor.elements());
  return sum;
}

// Statistics, as of batch normalization, are not trained, and sparse tables have no gradient of a fixed
// size, so neither is exchanged.
ModelShape find_model_shape(const std::string& name) {
  if (name == kFasterRcnn) return faster_rcnn();
  const Job job = load_job(find_net(name).value_or(name), {});
  if (job.data.format == "auto")
    fail(Code::kUsage, quote(name), ": data.format: 'auto' needs data to look at; name one");
  const Network<float> network(job.model, job.data.schema(job.data.format), job.job.seed);
  ModelShape model{.name = job.job.name, .tensors = {}};
  for (const ParameterSpec& spec : network.parameters()) {
    const bool trained = spec.kind != ParameterKind::kStatistic && !spec.sparse;
    if (trained && spec.rows * spec.cols > 0) model.tensors.push_back({spec.rows, spec.cols});
  }
  if (model.tensors.empty())
    fail(Code::kUsage, quote(name), ": no dense parameters: there is nothing to exchange");
  return model;
}

// Values are multiples of 1 / 4096 in [-0.5, 0.5), drawn by a hash of rank and index; a larger one is a
// multiple of 1 / 64 below 32.  So the sums over up to 64 ranks have few enough bits to be exact.  The
// large ones are what DGC's selection looks for.
float emulated_gradient(int rank, uint64_t index) {
  constexpr int kScale = 4096, kRare = 512, kLarger = 64;
  const uint64_t random = hash_key(index * 64 + static_cast<uint64_t>(rank));
  const float small = static_cast<float>(static_cast<int>(random % kScale) - kScale / 2) / kScale;
  return (random >> 16) % kRare == 0 ? small * kLarger : small;
}

}  // namespace ps
