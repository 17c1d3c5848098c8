#include "config/spec.h"
#include "math/blocks.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct DropoutOptions : LayerOptions {
  double rate = 0.5;

  static const ObjectSpec<DropoutOptions>& spec() {
    static const ObjectSpec<DropoutOptions> spec = [] {
      ObjectSpec<DropoutOptions> s;
      s.include(LayerOptions::spec());
      s.field("rate", &DropoutOptions::rate, "probability that a value is dropped, below 1").at_least(0);
      s.check([](const DropoutOptions& dropout, std::string_view path) {
        if (dropout.rate >= 1)
          fail(Code::kUsage, json_path(path, "rate"), ": ", dropout.rate, " is too large, expected below 1");
      });
      return s;
    }();
    return spec;
  }
};

// In training each value is 0 with probability `rate`, else multiplied by 1 / (1 - rate), so that its
// expectation stays; otherwise output = input.  Srivastava et al., JMLR 2014.
template <class T>
class Dropout final : public Layer<T> {
 public:
  Dropout(const DropoutOptions& options, LayerSetup& setup) : rate_(options.rate) {
    require_dense_inputs(setup, "dropout");
    require_one_input(setup, "dropout");
    set_output_like(setup.inputs().front(), setup);
  }

  void forward(LayerRun<T>& run) override {
    Matrix<const T> input = run.input(0);
    Matrix<T> output = run.output();
    if (run.training()) draw(run, output);
    for_elements(run.device(), output, [&](int64_t i) {
      output.data[i] = run.training() ? input.data[i] * factors_[static_cast<size_t>(i)] : input.data[i];
    });
  }

  void backward(LayerRun<T>& run) override {
    Matrix<const T> gradient = run.output_gradient();
    Matrix<T> below = run.input_gradient(0);
    if (!below) return;
    for_elements(run.device(), below,
                 [&](int64_t i) { below.data[i] += gradient.data[i] * factors_[static_cast<size_t>(i)]; });
  }

 private:
  // factors_ [B, D] <- 0 or 1 / (1 - rate); example b draws from stream b.
  void draw(LayerRun<T>& run, Matrix<T> output) {
    factors_.resize(static_cast<size_t>(output.size()));
    const T kept = static_cast<T>(1 / (1 - rate_));
    const double dropped = rate_ * 0x1p32;  // numbers below it drop
    constexpr int64_t kWorkPerNumber = 8;
    run.device().for_each(output.rows, block_items(kWorkPerNumber * output.cols),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t b = begin; b < end; ++b) {
                              Random random = run.random(static_cast<uint64_t>(b));
                              T* factors = &factors_[static_cast<size_t>(b * output.cols)];
                              for (int64_t d = 0; d < output.cols; ++d)
                                factors[d] = random.next32() < dropped ? T(0) : kept;
                            }
                          });
  }

  template <class Body>
  static void for_elements(Device& device, Matrix<T> m, Body&& body) {
    device.for_each(m.size(), block_items(1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  }

  const double rate_;
  std::vector<T> factors_;
};

}  // namespace

extern const LayerEntry kDropoutLayer = layer_entry<DropoutOptions, Dropout>(
    "dropout",
    "drops values at random in training, scaling the others up; passes its input through otherwise");

}  // namespace ps
