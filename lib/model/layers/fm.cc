#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "math/sparse_kernels.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct FmOptions : WeightedLayerOptions {
  int64_t factors = 8;
  bool sparse_update = false;

  static const ObjectSpec<FmOptions>& spec() {
    static const ObjectSpec<FmOptions> spec = [] {
      ObjectSpec<FmOptions> s;
      s.include(WeightedLayerOptions::spec());
      s.field("factors", &FmOptions::factors, "length of the vector of each id").at_least(1);
      s.field("sparse_update", &FmOptions::sparse_update,
              "the vectors live in a table: only rows of ids that occur are stored and updated");
      return s;
    }();
    return spec;
  }
};

// output [B, 1] = sum over pairs i < j of an example's ids, of all slots, of (v_i . v_j) x_i x_j
//               = 1/2 sum over f of ((sum over i of v_if x_i)^2 - sum over i of (v_if x_i)^2)
// Rendle, "Factorization machines", ICDM 2010.  The linear part is an fc layer of size 1 beside it.
template <class T>
class Fm final : public Layer<T> {
 public:
  Fm(const FmOptions& options, LayerSetup& setup) : factors_(options.factors) {
    require_sparse_inputs(setup, "fm");
    int64_t rows = shared_table_rows(setup, options.sparse_update);
    weight_ = setup.add_rows({"weight", rows, factors_, rows, /*smart_default=*/false, options.weight},
                             options.sparse_update);
    for (size_t i = 0; i < setup.inputs().size(); ++i)
      uses_.push_back(setup.use_input(weight_, static_cast<int>(i), /*transposed=*/true));
    setup.set_output(1);
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    Matrix<T> output = run.output();
    const int64_t values = output.rows * factors_;
    for (DeviceBuffer<T>* zeroed : {&sums_, &squares_}) {
      zeroed->resize(run.device(), values);
      fill_values(run.device(), T(0), values, zeroed->data());
    }
    for (size_t s = 0; s < uses_.size(); ++s) {
      const KeyUse& use = run.use(uses_[s]);
      add_bags_and_squares<T>(run.device(), use, id_values(run.slot(static_cast<int>(s))), run.rows(weight_),
                              matrix(sums_), matrix(squares_));
    }
    add_up_pairs<T>(run.device(), matrix(sums_), matrix(squares_), output.rows, output.data);
  }

  void backward(LayerRun<T>& run) override {
    for (size_t s = 0; s < uses_.size(); ++s) {
      add_pairwise_gradients<T>(run.device(), run.use(uses_[s]), id_values(run.slot(static_cast<int>(s))),
                                run.rows(weight_), run.output_gradient().data, matrix(sums_),
                                run.row_gradients(weight_));
    }
  }

 private:
  Columns<T> matrix(DeviceBuffer<T>& values) const { return {values.data(), factors_, factors_}; }

  const int64_t factors_;
  int weight_;
  std::vector<int> uses_;
  DeviceBuffer<T> sums_, squares_;  // [B, factors]
};

}  // namespace

extern const LayerEntry kFmLayer =
    layer_entry<FmOptions, Fm>("fm",
                               "second-order factorisation machine: products of the vectors of all pairs of "
                               "ids of its sparse slots, summed");

}  // namespace ps
