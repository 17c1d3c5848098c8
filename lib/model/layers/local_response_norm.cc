#include "math/device_buffer.h"
#include "math/normalization.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct LocalResponseNormOptions : LayerOptions, ImageKeys {
  int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, k = 2;

  static const ObjectSpec<LocalResponseNormOptions>& spec() {
    static const ObjectSpec<LocalResponseNormOptions> spec = [] {
      ObjectSpec<LocalResponseNormOptions> s;
      s.include(LayerOptions::spec());
      s.include(ImageKeys::spec());
      s.field("size", &LocalResponseNormOptions::size, "channels summed over, centred on each; odd")
          .at_least(1);
      s.field("alpha", &LocalResponseNormOptions::alpha, "factor of the sum of squares").at_least(0);
      s.field("beta", &LocalResponseNormOptions::beta, "power of the divisor").at_least(0);
      s.field("k", &LocalResponseNormOptions::k, "what is added to the sum").above(0);
      s.check([](const LocalResponseNormOptions& norm, std::string_view path) {
        if (norm.size % 2 == 0)
          fail(Code::kUsage, json_path(path, "size"), ": ", norm.size, " is even, expected an odd number");
      });
      return s;
    }();
    return spec;
  }
};

// output_c = x_c / s_c^beta, with s_c = k + alpha x sum of x_j² over the `size` channels j around c, at each
// pixel.  Krizhevsky et al., NIPS 2012, section 3.3.
template <class T>
class LocalResponseNorm final : public Layer<T> {
 public:
  LocalResponseNorm(const LocalResponseNormOptions& options, LayerSetup& setup) {
    const ImageShape image = require_image(options, setup, "local_response_norm");
    norm_ = {.channels = image.channels,
             .plane = image.plane(),
             .reach = options.size / 2,
             .alpha = static_cast<T>(options.alpha),
             .beta = static_cast<T>(options.beta),
             .k = static_cast<T>(options.k)};
    setup.set_image_output(image);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    sums_.resize(run.device(), run.output().size());
    local_response_norm(run.device(), norm_, run.input(0), sums_.data(), run.output());
  }

  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (!below) return;
    ratios_.resize(run.device(), sums_.size());
    add_local_response_gradients(run.device(), norm_, run.input(0), run.output_gradient(), sums_.data(),
                                 ratios_.data(), below);
  }

 private:
  LocalResponse<T> norm_;
  DeviceBuffer<T> sums_;    // [B, C, H, W], s of the last forward
  DeviceBuffer<T> ratios_;  // [B, C, H, W], of backward
};

}  // namespace

extern const LayerEntry kLocalResponseNormLayer = layer_entry<LocalResponseNormOptions, LocalResponseNorm>(
    "local_response_norm",
    "divides each value of an image by a power of the sum of squares over the channels beside it");

}  // namespace ps
