#include "math/image_kernels.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct GlobalAveragePoolOptions : LayerOptions, ImageKeys {
  static const ObjectSpec<GlobalAveragePoolOptions>& spec() {
    static const ObjectSpec<GlobalAveragePoolOptions> spec = [] {
      ObjectSpec<GlobalAveragePoolOptions> s;
      s.include(LayerOptions::spec());
      s.include(ImageKeys::spec());
      return s;
    }();
    return spec;
  }
};

// output [B, C] = mean over the plane of each channel of an image [B, C, H, W].  Lin et al., "Network in
// network", ICLR 2014.
template <class T>
class GlobalAveragePool final : public Layer<T> {
 public:
  GlobalAveragePool(const GlobalAveragePoolOptions& options, LayerSetup& setup) {
    setup.set_image_output({require_image(options, setup, "global_average_pool").channels, 1, 1});
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override { average_planes(run.device(), run.input(0), run.output()); }

  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (below) add_average_gradients(run.device(), run.output_gradient(), below);
  }
};

}  // namespace

extern const LayerEntry kGlobalAveragePoolLayer = layer_entry<GlobalAveragePoolOptions, GlobalAveragePool>(
    "global_average_pool", "the mean of each channel of an image: one value a channel");

}  // namespace ps
