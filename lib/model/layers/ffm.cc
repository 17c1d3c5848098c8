#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "math/interaction_kernels.h"
#include "math/sparse_kernels.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct FfmOptions : WeightedLayerOptions {
  int64_t factors = 4;
  bool sparse_update = false;

  static const ObjectSpec<FfmOptions>& spec() {
    static const ObjectSpec<FfmOptions> spec = [] {
      ObjectSpec<FfmOptions> s;
      s.include(WeightedLayerOptions::spec());
      s.field("factors", &FfmOptions::factors, "length of the vector of an id for each of the other slots")
          .at_least(1)
          .at_most(1 << 12);
      s.field("sparse_update", &FfmOptions::sparse_update,
              "the vectors live in a table: only rows of ids that occur are stored and updated");
      return s;
    }();
    return spec;
  }
};

// output [B, 1] = sum over pairs of ids i, j of different slots f, g of (v_ig . v_jf) x_i x_j
// A row has the vectors of an id for each slot, F D values.  The ids of a slot come together first, so that an example
// takes F^2 D / 2 products, however many ids it has.
template <class T>
class Ffm final : public Layer<T> {
 public:
  Ffm(const FfmOptions& options, LayerSetup& setup)
      : shape_{static_cast<int64_t>(setup.inputs().size()), options.factors} {
    require_sparse_inputs(setup, "ffm");
    if (shape_.fields < 2) fail(Code::kUsage, "input: ffm takes two or more slots, found ", shape_.fields);
    const int64_t rows = shared_table_rows(setup, options.sparse_update);
    weight_ = setup.add_rows({"weight", rows, shape_.row(), rows, /*smart_default=*/false, options.weight},
                             options.sparse_update);
    for (int i = 0; i < static_cast<int>(shape_.fields); ++i)
      uses_.push_back(setup.use_input(weight_, i, !scatters_gradients(shape_.row())));
    setup.set_output(1);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    const Matrix<T> sums = matrix(run.device(), vectors_, run.output().rows);
    fill_values(run.device(), T(0), sums.size(), sums.data);
    for (size_t f = 0; f < uses_.size(); ++f) {
      add_bags<T>(run.device(), run.use(uses_[f]), id_values(run.slot(static_cast<int>(f))),
                  run.rows(weight_), field(sums, f));
    }
    field_products<T>(run.device(), shape_, sums, run.output().data);
  }

  void backward(LayerRun<T>& run) override {
    const int64_t examples = run.output().rows;
    const Matrix<T> slopes = matrix(run.device(), gradients_, examples);
    field_gradients<T>(run.device(), shape_, matrix(run.device(), vectors_, examples),
                       run.output_gradient().data, slopes.data);
    for (size_t f = 0; f < uses_.size(); ++f) {
      add_bag_gradients<T>(run.device(), run.use(uses_[f]), id_values(run.slot(static_cast<int>(f))),
                           field(slopes, f), run.row_gradients(weight_));
    }
  }

 private:
  Matrix<T> matrix(Device& device, DeviceBuffer<T>& values, int64_t examples) const {
    const int64_t cols = shape_.fields * shape_.row();
    values.resize(device, examples * cols);
    return {values.data(), examples, cols};
  }

  Columns<T> field(Matrix<T> vectors, size_t f) const {
    return columns(vectors, static_cast<int64_t>(f) * shape_.row(), shape_.row());
  }

  const FieldShape shape_;
  int weight_;
  std::vector<int> uses_;
  DeviceBuffer<T> vectors_, gradients_;  // [B, F, F, D]
};

}  // namespace

extern const LayerEntry kFfmLayer = layer_entry<FfmOptions, Ffm>(
    "ffm",
    "field-aware factorisation machine: products of the vectors of all pairs of ids of different sparse "
    "slots, each id with a vector for each other slot, summed");

}  // namespace ps
