#include "math/blocks.h"
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
  GlobalAveragePool(const GlobalAveragePoolOptions& options, LayerSetup& setup)
      : image_(require_image(options, setup, "global_average_pool")) {
    setup.set_image_output({image_.channels, 1, 1});
  }

  void forward(LayerRun<T>& run) override {
    const T* images = run.input(0).data;
    T* output = run.output().data;
    for_planes(run, [&](int64_t plane) {
      const T* values = images + plane * image_.plane();
      output[plane] = plane_sum<T>(image_.plane(), [values](int64_t p) { return values[p]; }) / count();
    });
  }

  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (!below) return;
    const T* slopes = run.output_gradient().data;
    for_planes(run, [&](int64_t plane) {
      T* values = below.data + plane * image_.plane();
      for (int64_t p = 0; p < image_.plane(); ++p) values[p] += slopes[plane] / count();
    });
  }

 private:
  T count() const { return static_cast<T>(image_.plane()); }

  template <class Body>
  void for_planes(LayerRun<T>& run, Body&& body) const {
    run.device().for_each(run.output().size(), block_items(image_.plane()), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) body(plane);
    });
  }

  const ImageShape image_;
};

}  // namespace

extern const LayerEntry kGlobalAveragePoolLayer = layer_entry<GlobalAveragePoolOptions, GlobalAveragePool>(
    "global_average_pool", "the mean of each channel of an image: one value a channel");

}  // namespace ps
