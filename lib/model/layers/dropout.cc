#include "math/dropout.h"
#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
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
    setup.keep_rows();
    set_output_like(setup.inputs().front(), setup);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    const Matrix<const T> input = run.input(0);
    const Matrix<T> output = run.output();
    if (!run.training()) return copy_values(run.device(), input.data, output.size(), output.data);
    factors_.resize(run.device(), output.size());
    draw_dropout<T>(run.device(), run.random_seed(), rate_, {factors_.data(), output.rows, output.cols});
    multiply_values(run.device(), input.data, factors_.data(), output.size(), output.data);
  }

  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (!below) return;
    add_multiplied_values(run.device(), run.output_gradient().data, factors_.data(), below.size(),
                          below.data);
  }

 private:
  const double rate_;
  DeviceBuffer<T> factors_;  // [B, D] of the last forward in training
};

}  // namespace

extern const LayerEntry kDropoutLayer = layer_entry<DropoutOptions, Dropout>(
    "dropout",
    "drops values at random in training, scaling the others up; passes its input through otherwise");

}  // namespace ps
