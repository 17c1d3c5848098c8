// Pools: each window of an image becomes one value, its largest or its mean.

#include "math/device_buffer.h"
#include "math/pooling.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct PoolOptions : LayerOptions, ImageKeys {
  int64_t kernel = 0, stride = 1, padding = 0;
  bool ceil_mode = false;

  static const ObjectSpec<PoolOptions>& spec() {
    static const ObjectSpec<PoolOptions> spec = [] {
      ObjectSpec<PoolOptions> s;
      s.include(LayerOptions::spec());
      s.include(ImageKeys::spec());
      s.field("kernel", &PoolOptions::kernel, "rows and columns of a window")
          .must()
          .at_least(1)
          .at_most(1024);
      s.field("stride", &PoolOptions::stride, "rows and columns from one window to the next")
          .at_least(1)
          .at_most(1024);
      s.field("padding", &PoolOptions::padding, "how far windows reach over each edge; nothing there counts")
          .at_least(0);
      s.field("ceil_mode", &PoolOptions::ceil_mode,
              "a last window that reaches past the lower or right edge is taken too");
      return s;
    }();
    return spec;
  }
};

PoolShape pool_shape_of(const PoolOptions& options, const ImageShape& image) {
  check_window(image, options.kernel, options.padding);
  return make_pool_shape({.channels = image.channels,
                          .height = image.height,
                          .width = image.width,
                          .kernel = options.kernel,
                          .stride = options.stride,
                          .padding = options.padding,
                          .out_height = 0,
                          .out_width = 0},
                         options.ceil_mode);
}

ImageShape pooled_image(const PoolShape& shape) {
  return {shape.channels, shape.out_height, shape.out_width};
}

// output [B, C, OH, OW] of images [B, C, H, W], plane by plane: the largest value of each window.
template <class T>
class MaxPool final : public Layer<T> {
 public:
  MaxPool(const PoolOptions& options, LayerSetup& setup)
      : shape_(pool_shape_of(options, require_image(options, setup, "max_pool"))) {
    setup.set_image_output(pooled_image(shape_));
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    argmax_.resize(run.device(), run.output().size());
    max_pool(run.device(), shape_, run.input(0), run.output(), argmax_.data());
  }

  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (below) add_max_pool_gradients(run.device(), shape_, run.output_gradient(), argmax_.data(), below);
  }

 private:
  const PoolShape shape_;
  DeviceBuffer<int64_t> argmax_;  // [B, C, OH, OW], of the last forward
};

// The same of means, which are over the values of the image that a window holds: padding is left out.
template <class T>
class AveragePool final : public Layer<T> {
 public:
  AveragePool(const PoolOptions& options, LayerSetup& setup)
      : shape_(pool_shape_of(options, require_image(options, setup, "average_pool"))) {
    setup.set_image_output(pooled_image(shape_));
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override { average_pool(run.device(), shape_, run.input(0), run.output()); }

  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (below) add_average_pool_gradients(run.device(), shape_, run.output_gradient(), below);
  }

 private:
  const PoolShape shape_;
};

}  // namespace

extern const LayerEntry kMaxPoolLayer = layer_entry<PoolOptions, MaxPool>(
    "max_pool", "the largest value of each window of an image, channel by channel");
extern const LayerEntry kAveragePoolLayer = layer_entry<PoolOptions, AveragePool>(
    "average_pool", "the mean of each window of an image, channel by channel");

}  // namespace ps
