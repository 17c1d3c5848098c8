#include "model/layers/sampled_rows.h"

#include "base/reals.h"
#include "config/spec.h"
#include "math/sampled_kernels.h"
#include "model/labels.h"
#include "model/layers/layer_entry.h"

namespace ps {

template <class T>
static SampledWeights<T> weights_of(LayerRun<T>& run, const SampledRows& rows) {
  const bool biased = rows.bias >= 0;
  return {&run.use(rows.weight_use), run.rows(rows.weight), biased ? &run.use(rows.bias_use) : nullptr,
          biased ? run.rows(rows.bias) : nullptr};
}

const ObjectSpec<SampledLayerOptions>& SampledLayerOptions::spec() {
  static const ObjectSpec<SampledLayerOptions> spec = [] {
    ObjectSpec<SampledLayerOptions> s;
    s.include(WeightedLayerOptions::spec());
    s.field("num_classes", &SampledLayerOptions::num_classes, "labels are whole numbers below it")
        .must()
        .at_least(2)
        .at_most(static_cast<double>(kMaxClasses))
        .or_auto();
    s.field("sparse_update", &SampledLayerOptions::sparse_update,
            "rows live in a table; only those used are updated");
    s.field("bias", &SampledLayerOptions::bias, "start and tuning of the bias, or false for none");
    return s;
  }();
  return spec;
}

SampledRows declare_sampled_rows(LayerSetup& setup, std::string_view layer,
                                 const SampledLayerOptions& options, int64_t rows) {
  if (options.activation != "linear") {
    fail(Code::kUsage, "activation: ", layer, " gives costs, and takes only 'linear', found ",
         quote(options.activation));
  }
  const int64_t cols = setup.inputs()[0].cols;
  SampledRows out;
  out.weight = setup.add_rows(
      {.suffix = "weight", .rows = rows, .cols = cols, .fan_in = cols, .options = options.weight},
      options.sparse_update);
  out.weight_use = setup.use_samples(out.weight);
  if (options.bias.enabled) {
    out.bias = setup.add_rows(
        {.suffix = "bias", .rows = rows, .cols = 1, .fan_in = 0, .options = options.bias.parameter},
        options.sparse_update);
    out.bias_use = setup.use_samples(out.bias);
  }
  setup.set_output(1);
  return out;
}

template <class T>
void score_samples(LayerRun<T>& run, const SampledRows& rows, DeviceBuffer<T>& scores) {
  scores.resize(run.device(), std::ssize(run.use(rows.weight_use).index));
  score_samples(run.device(), weights_of(run, rows), run.input(0), scores.data());
}

// The gradient of the output multiplies each slope within the kernels, so that no array of their products
// is needed.
template <class T>
void add_sample_gradients(LayerRun<T>& run, const SampledRows& rows, const T* slopes) {
  const SampledSlopes<T> all{slopes, run.output_gradient().data};
  add_sample_weight_gradients(run.device(), run.use(rows.weight_use), run.input(0), all,
                              run.row_gradients(rows.weight));
  if (rows.bias >= 0) {
    add_sample_bias_gradients(run.device(), run.use(rows.bias_use), all, run.row_gradients(rows.bias));
  }
  if (const Matrix<T> below = run.input_gradient(0)) {
    add_sample_input_gradients(run.device(), weights_of(run, rows), all, below);
  }
}

#define PS_INSTANTIATE(T)                                                          \
  template void score_samples(LayerRun<T>&, const SampledRows&, DeviceBuffer<T>&); \
  template void add_sample_gradients(LayerRun<T>&, const SampledRows&, const T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
