#include <utility>

#include "math/convolution.h"
#include "math/image_kernels.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct Conv2dOptions : WeightedLayerOptions, ImageKeys {
  int64_t filters = 0, kernel = 0, stride = 1, padding = 0, groups = 1;
  BiasOptions bias;

  static const ObjectSpec<Conv2dOptions>& spec() {
    static const ObjectSpec<Conv2dOptions> spec = [] {
      ObjectSpec<Conv2dOptions> s;
      s.include(WeightedLayerOptions::spec());
      s.include(ImageKeys::spec());
      s.field("filters", &Conv2dOptions::filters, "channels of the image out")
          .must()
          .at_least(1)
          .at_most(1 << 20);
      s.field("kernel", &Conv2dOptions::kernel, "rows and columns of a filter")
          .must()
          .at_least(1)
          .at_most(1024);
      s.field("stride", &Conv2dOptions::stride, "rows and columns from one place of a filter to the next")
          .at_least(1)
          .at_most(1024);
      s.field("padding", &Conv2dOptions::padding, "zeros around the image, on each side").at_least(0);
      s.field("groups", &Conv2dOptions::groups,
              "parts that channels and filters fall into; filters of a part see its channels alone")
          .at_least(1);
      s.field("bias", &Conv2dOptions::bias, "start and tuning of the bias of each filter, or false for none");
      return s;
    }();
    return spec;
  }
};

ConvolutionShape shape_of(const Conv2dOptions& options, const ImageShape& image) {
  check_window(image, options.kernel, options.padding);
  for (const auto& [what, count] : {std::pair("channels", image.channels), {"filters", options.filters}}) {
    if (count % options.groups == 0) continue;
    fail(Code::kUsage, "groups: ", options.groups, " does not divide the ", count, " ", what);
  }
  return make_convolution_shape({.channels = image.channels,
                                 .height = image.height,
                                 .width = image.width,
                                 .filters = options.filters,
                                 .kernel = options.kernel,
                                 .stride = options.stride,
                                 .padding = options.padding,
                                 .groups = options.groups,
                                 .out_height = 0,
                                 .out_width = 0,
                                 .rows_per_tile = 0,
                                 .scratch_size = 0});
}

// output [B, F, OH, OW] = filters over the image [B, C, H, W], + bias [F].  math/convolution_shape.h has the
// sizes.
template <class T>
class Conv2d final : public Layer<T> {
 public:
  Conv2d(const Conv2dOptions& options, LayerSetup& setup)
      : shape_(shape_of(options, require_image(options, setup, "conv2d"))) {
    const int64_t depth = shape_.channels / shape_.groups * shape_.kernel * shape_.kernel;
    weight_ = setup.add_matrix({"weight", shape_.filters, depth, depth, true, options.weight});
    if (options.bias.enabled) {
      bias_ = setup.add_matrix({"bias", 1, shape_.filters, /*fan_in=*/0, true, options.bias.parameter});
    }
    setup.set_image_output({shape_.filters, shape_.out_height, shape_.out_width});
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    set_planes<T>(run.device(), bias_ >= 0 ? run.value(bias_).data : nullptr, shape_.filters, run.output());
    convolve<T>(run.device(), shape_, run.input(0), run.value(weight_).data, scratch_, run.output());
  }

  void backward(LayerRun<T>& run) override {
    const Matrix<const T> gradient = run.output_gradient();
    if (bias_ >= 0) add_plane_sums(run.device(), gradient, shape_.filters, run.gradient(bias_).data);
    add_convolution_weight_gradient<T>(run.device(), shape_, run.input(0), gradient, scratch_,
                                       run.gradient(weight_).data);
    if (const Matrix<T> below = run.input_gradient(0)) {
      add_convolution_image_gradients<T>(run.device(), shape_, gradient, run.value(weight_).data, scratch_,
                                         below);
    }
  }

 private:
  const ConvolutionShape shape_;
  int weight_, bias_ = -1;
  ConvolutionScratch<T> scratch_;
};

}  // namespace

extern const LayerEntry kConv2dLayer = layer_entry<Conv2dOptions, Conv2d>(
    "conv2d", "convolution of an image (a layer, a dense slot) with square filters, plus a bias");

}  // namespace ps
