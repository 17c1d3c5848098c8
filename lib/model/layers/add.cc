#include "math/dense_kernels.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

// output [B, D] = sum of the inputs [B, D]
template <class T>
class Add final : public Layer<T> {
 public:
  Add(const LayerOptions&, LayerSetup& setup) : num_inputs_(static_cast<int>(setup.inputs().size())) {
    require_dense_inputs(setup, "add");
    const InputInfo& first = setup.inputs().front();
    for (const InputInfo& input : setup.inputs()) {
      if (input.cols == first.cols) continue;
      fail(Code::kUsage, "input: add takes inputs of one width, found ", quote(first.name), " with ",
           first.cols, " and ", quote(input.name), " with ", input.cols);
    }
    setup.keep_rows();
    const std::optional<ImageShape> image = common_image(setup.inputs());
    image ? setup.set_image_output(*image) : setup.set_output(first.cols);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    const int64_t rows = run.output().rows;
    copy_columns<T>(run.device(), columns(run.input(0)), rows, columns(run.output()));
    for (int i = 1; i < num_inputs_; ++i)
      add_columns<T>(run.device(), columns(run.input(i)), rows, columns(run.output()));
  }

  void backward(LayerRun<T>& run) override {
    for (int i = 0; i < num_inputs_; ++i) {
      Matrix<T> below = run.input_gradient(i);
      if (below) add_columns<T>(run.device(), columns(run.output_gradient()), below.rows, columns(below));
    }
  }

 private:
  const int num_inputs_;
};

}  // namespace

extern const LayerEntry kAddLayer = layer_entry<LayerOptions, Add>(
    "add", "the sum of its inputs (layers, dense slots), which have one width; of images, an image");

}  // namespace ps
