#include <vector>

#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "math/interaction_kernels.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct CosineOptions : LayerOptions {
  double scale = 1;

  static const ObjectSpec<CosineOptions>& spec() {
    static const ObjectSpec<CosineOptions> spec = [] {
      ObjectSpec<CosineOptions> s;
      s.include(LayerOptions::spec());
      s.field("scale", &CosineOptions::scale, "multiplies the cosine: 20 makes a logit of it").above(0);
      return s;
    }();
    return spec;
  }
};

// output [B, 1] = scale a . b / (|a| |b|), of the inputs a and b [B, D]; 0 where one of them is 0.
template <class T>
class Cosine final : public Layer<T> {
 public:
  Cosine(const CosineOptions& options, LayerSetup& setup)
      : scale_(static_cast<T>(options.scale)), width_(setup.inputs().empty() ? 0 : setup.inputs()[0].cols) {
    require_matching_inputs(setup, "cosine", 2);
    setup.set_output(1);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    const int64_t examples = run.output().rows;
    for (size_t i = 0; i < 2; ++i) {
      units_[i].resize(run.device(), examples * width_);
      scale_to_unit<T>(run.device(), run.input(static_cast<int>(i)), units_[i].data());
    }
    scaled_.resize(run.device(), examples);
    dot_products<T>(run.device(), units(examples), scaled_.data());
    fill_values(run.device(), T(0), examples, run.output().data);
    add_scaled_values(run.device(), scale_, scaled_.data(), examples, run.output().data);
  }

  // The cosine is the dot product of the two units, so that the gradient goes through the scale, the dot
  // product and the division by the length, in this order, for one input after the other.
  void backward(LayerRun<T>& run) override {
    const int64_t examples = run.output().rows;
    fill_values(run.device(), T(0), examples, scaled_.data());
    add_scaled_values(run.device(), scale_, run.output_gradient().data, examples, scaled_.data());
    unit_gradients_.resize(run.device(), examples * width_);
    for (size_t i = 0; i < 2; ++i) {
      fill_values(run.device(), T(0), examples * width_, unit_gradients_.data());
      add_dot_gradients<T>(run.device(), units(examples), i, scaled_.data(),
                           {unit_gradients_.data(), examples, width_});
      add_unit_gradients<T>(run.device(), run.input(static_cast<int>(i)), units_[i].data(),
                            unit_gradients_.data(), run.input_gradient(static_cast<int>(i)));
    }
  }

 private:
  std::vector<Matrix<const T>> units(int64_t examples) const {
    return {{units_[0].data(), examples, width_}, {units_[1].data(), examples, width_}};
  }

  const T scale_;
  const int64_t width_;             // D
  DeviceBuffer<T> units_[2];        // [B, D]: the inputs, each of length 1
  DeviceBuffer<T> unit_gradients_;  // [B, D]
  DeviceBuffer<T> scaled_;          // [B]: cosines, then the gradients of these
};

}  // namespace

extern const LayerEntry kCosineLayer = layer_entry<CosineOptions, Cosine>(
    "cosine", "the cosine of the angle between two inputs of one width, times a scale");

}  // namespace ps
