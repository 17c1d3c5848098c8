#include "math/attention.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

// output [K, D] = input + the encoding of each row's position (math/attention.h).
template <class T>
class PositionEncoding final : public Layer<T> {
 public:
  PositionEncoding(const LayerOptions&, LayerSetup& setup) {
    require_one_input(setup, "position_encoding");
    setup.join_rows();
    setup.keep_rows();
    setup.set_output(setup.inputs().front().cols);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    add_position_encoding<T>(run.device(), run.sequence(0), run.input(0), encodings_, run.output());
  }

  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (below) add_columns<T>(run.device(), columns(run.output_gradient()), below.rows, columns(below));
  }

 private:
  DeviceBuffer<T> encodings_;  // on a device with memory of its own: of the positions of a batch
};

}  // namespace

extern const LayerEntry kPositionEncodingLayer = layer_entry<LayerOptions, PositionEncoding>(
    "position_encoding",
    "adds sines and cosines of its position to each row of a sequence, which tell attention the order");

}  // namespace ps
