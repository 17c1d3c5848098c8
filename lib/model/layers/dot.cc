#include <string_view>
#include <vector>

#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "math/interaction_kernels.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

// output [B, 1] = sum over d of the product of the inputs [B, D] at d
template <class T>
class ProductSum : public Layer<T> {
 public:
  ProductSum(LayerSetup& setup, std::string_view name, size_t num_inputs) : num_inputs_(num_inputs) {
    require_matching_inputs(setup, name, num_inputs);
    setup.set_output(1);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override { dot_products<T>(run.device(), inputs(run), run.output().data); }

  void backward(LayerRun<T>& run) override {
    const std::vector<Matrix<const T>> all = inputs(run);
    for (size_t i = 0; i < num_inputs_; ++i) {
      add_dot_gradients<T>(run.device(), all, i, run.output_gradient().data,
                           run.input_gradient(static_cast<int>(i)));
    }
  }

 private:
  std::vector<Matrix<const T>> inputs(LayerRun<T>& run) const {
    std::vector<Matrix<const T>> all;
    for (size_t i = 0; i < num_inputs_; ++i) all.push_back(run.input(static_cast<int>(i)));
    return all;
  }

  const size_t num_inputs_;
};

template <class T>
class Dot final : public ProductSum<T> {
 public:
  Dot(const LayerOptions&, LayerSetup& setup) : ProductSum<T>(setup, "dot", 2) {}
};

// DistMult: Yang et al., "Embedding entities and relations for learning and inference in knowledge bases", ICLR 2015.
template <class T>
class Bilinear final : public ProductSum<T> {
 public:
  Bilinear(const LayerOptions&, LayerSetup& setup) : ProductSum<T>(setup, "bilinear", 3) {}
};

// output [B, D] = the product of the inputs [B, D], value by value
template <class T>
class Multiply final : public Layer<T> {
 public:
  Multiply(const LayerOptions&, LayerSetup& setup) : num_inputs_(setup.inputs().size()) {
    require_matching_inputs(setup, "multiply", num_inputs_);
    setup.set_output(setup.inputs()[0].cols);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    const int64_t size = run.output().size();
    copy_values(run.device(), run.input(0).data, size, run.output().data);
    for (int i = 1; i < static_cast<int>(num_inputs_); ++i)
      multiply_values(run.device(), run.output().data, run.input(i).data, size, run.output().data);
  }

  void backward(LayerRun<T>& run) override {
    const int64_t size = run.output().size();
    for (int i = 0; i < static_cast<int>(num_inputs_); ++i) {
      const Matrix<T> below = run.input_gradient(i);
      if (!below) continue;
      product_.resize(run.device(), size);
      copy_values(run.device(), run.output_gradient().data, size, product_.data());
      for (int j = 0; j < static_cast<int>(num_inputs_); ++j)
        if (j != i) multiply_values(run.device(), product_.data(), run.input(j).data, size, product_.data());
      add_scaled_values(run.device(), T(1), product_.data(), size, below.data);
    }
  }

 private:
  const size_t num_inputs_;
  DeviceBuffer<T> product_;  // [B, D]: of the gradient and all inputs but one
};

}  // namespace

extern const LayerEntry kDotLayer = layer_entry<LayerOptions, Dot>(
    "dot", "the dot product of two inputs of one width, such as the vectors of a user and of an item");

extern const LayerEntry kMultiplyLayer = layer_entry<LayerOptions, Multiply>(
    "multiply", "the product of its inputs (layers, dense slots), which have one width, value by value");

extern const LayerEntry kBilinearLayer =
    layer_entry<LayerOptions, Bilinear>("bilinear",
                                        "DistMult: the sum of the products of three inputs of one width, "
                                        "such as the vectors of a head, a relation and a "
                                        "tail");

}  // namespace ps
