#include "math/dense_kernels.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

// Images of one height and width, side by side, are the image of all their channels.
std::optional<ImageShape> joined_image(std::span<const InputInfo> inputs) {
  std::optional<ImageShape> joined = inputs.front().image;
  for (const InputInfo& input : inputs.subspan(1)) {
    if (!joined || !input.image || input.image->height != joined->height ||
        input.image->width != joined->width)
      return std::nullopt;
    joined->channels += input.image->channels;
  }
  return joined;
}

// output [B, sum of widths]: the inputs side by side.
template <class T>
class Concat final : public Layer<T> {
 public:
  Concat(const LayerOptions&, LayerSetup& setup) {
    require_dense_inputs(setup, "concat");
    int64_t cols = 0;
    for (const InputInfo& input : setup.inputs()) {
      widths_.push_back(input.cols);
      cols += input.cols;
    }
    setup.keep_rows();
    const std::optional<ImageShape> image = joined_image(setup.inputs());
    image ? setup.set_image_output(*image) : setup.set_output(cols);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    for_inputs([&](int i, int64_t begin, int64_t width) {
      Matrix<const T> input = run.input(i);
      copy_columns<T>(run.device(), columns(input), input.rows, columns(run.output(), begin, width));
    });
  }

  void backward(LayerRun<T>& run) override {
    for_inputs([&](int i, int64_t begin, int64_t width) {
      Matrix<T> below = run.input_gradient(i);
      if (below)
        add_columns<T>(run.device(), columns(run.output_gradient(), begin, width), below.rows,
                       columns(below));
    });
  }

 private:
  template <class Body>
  void for_inputs(Body&& body) const {
    int64_t begin = 0;
    for (size_t i = 0; i < widths_.size(); begin += widths_[i++])
      body(static_cast<int>(i), begin, widths_[i]);
  }

  std::vector<int64_t> widths_;
};

}  // namespace

extern const LayerEntry kConcatLayer =
    layer_entry<LayerOptions, Concat>("concat",
                                      "the values of its inputs (layers, dense slots) side by side: of "
                                      "images of one height and width, an image of all their "
                                      "channels");

}  // namespace ps
