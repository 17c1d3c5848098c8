// Times a whole local step of Deep Gradient Compression: accumulation, selection, masking and encoding.
#include "base/error.h"
#include "bench/codec/suite.h"
#include "bench/pages.h"
#include "codec/dgc.h"

namespace ps {

namespace {

// Steps on one gradient.  The states u and v go on from run to run, as in training, so that values which
// were not sent grow and are sent later.  One owner thread.
class LocalStep final : public Workload {
 public:
  LocalStep(DgcOptions options, const BenchSettings& settings)
      : options_(std::move(options)),
        gradient_(bench_gradient(scaled_power(settings.scale, 1 << 26, 1 << 20), 3)),
        weights_(gradient_.size()),
        dgc_(options_, {.shape = {static_cast<int64_t>(gradient_.size()) / 1024, 1024},
                        .num_trainers = 4,
                        .cpu = settings.cpu}) {}

  void prepare() override { bytes_.clear(); }

  void run() override { dgc_.step_sparse({gradient_, 1, 0.01f}, weights_, bytes_); }

  // Checks that sent values are zero in both states, and that no remaining value is larger.  Sizes are
  // compared as bit patterns of floats without sign, whose order is that of their sizes.  The selection is
  // by a sampled threshold, so somewhat fewer values than a thousandth may be sent, but not more.
  void check() override {
    SparseVector sparse;
    decode_sparse(find_sparse_encoding(options_.encoding), bytes_, gradient_.size(), sparse);
    const double share = static_cast<double>(sparse.size()) / (static_cast<double>(gradient_.size()) / 1000);
    if (share < kLeastSelected || share > 1) fail(Code::kInternal, sparse.size(), " values were sent");
    std::vector<float> sent = sparse.value;
    const uint32_t least = size_of_rank(sent, sent.size()), left = size_of_rank(dgc_.residual(), 1);
    for (uint32_t index : sparse.index) {
      const bool gone = dgc_.residual()[index] == 0 && dgc_.velocity()[index] == 0;
      if (!gone) fail(Code::kInternal, "value ", index, " was sent, and is still kept");
    }
    if (left > least) fail(Code::kInternal, "a value that is kept is larger than one that was sent");
  }

  // A step reads the gradient, u and v, and writes u and v: five arrays.  A copy, whose bytes count once,
  // reads one array and writes one.
  Work work() const override {
    return {.bytes = static_cast<double>(gradient_.size() * sizeof(float)) * 5 / 2};
  }

  std::vector<Figure> figures() const override {
    return {
        {"ratio", static_cast<double>(gradient_.size() * sizeof(float)) / static_cast<double>(bytes_.size())},
        {"bytes a value",
         static_cast<double>(bytes_.size()) / (static_cast<double>(gradient_.size()) / 1000)}};
  }

 private:
  const DgcOptions options_;
  const std::vector<float> gradient_, weights_;
  DeepGradientCompression dgc_;
  std::string bytes_;
};

}  // namespace

std::vector<Benchmark> dgc_step_benchmarks() {
  return {
      {.name = "dgc/step",
       .help = "a local step on 64 M floats at 99.9 %: half of the bytes that it reads and writes",
       .unit = "B",
       .make =
           [](const BenchSettings& settings) { return std::make_unique<LocalStep>(DgcOptions{}, settings); },
       .limit = "limits/copy",
       .paired = true}};
}

}  // namespace ps
