#include "model/layers/sampled_rows.h"

#include "config/spec.h"
#include "math/blocks.h"
#include "model/labels.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

// Eight sums side by side, which the compiler makes one vector of.
template <class T>
T dot(const T* a, const T* b, int64_t size) {
  constexpr int64_t kLanes = 8;
  T lanes[kLanes] = {}, sum = 0;
  int64_t d = 0;
  for (; d + kLanes <= size; d += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[d + lane] * b[d + lane];
  }
  for (; d < size; ++d) sum += a[d] * b[d];
  for (T lane : lanes) sum += lane;
  return sum;
}

template <class T>
void add_scaled(T scale, const T* in, int64_t size, T* out) {
  for (int64_t d = 0; d < size; ++d) out[d] += scale * in[d];
}

// Examples of one block, so that a block is some 32 Ki multiplications.
int64_t examples_per_block(const KeyUse& use, int64_t examples, int64_t cols) {
  int64_t ids = static_cast<int64_t>(use.index.size()) / std::max<int64_t>(1, examples) + 1;
  return block_items(ids * cols);
}

// Row n gets the sum of out[b] slopes[k] input[b] over its places k, in order.
template <class T>
void add_weight_gradients(LayerRun<T>& run, const SampledRows& rows, std::span<const T> slopes) {
  const KeyUse& use = run.use(rows.weight_use);
  const Matrix<const T> input = run.input(0);
  const T* const out = run.output_gradient().data;
  T* const gradients = run.row_gradients(rows.weight);
  const int64_t touched = static_cast<int64_t>(use.touched.size());
  const int64_t places = static_cast<int64_t>(use.positions.size()) / std::max<int64_t>(1, touched) + 1;
  run.device().for_each(touched, block_items(places * input.cols), [&](int64_t begin, int64_t end) {
    for (size_t m = static_cast<size_t>(begin); m < static_cast<size_t>(end); ++m) {
      T* gradient = gradients + use.touched[m] * input.cols;
      for (uint32_t p = use.starts[m]; p < use.starts[m + 1]; ++p) {
        uint32_t b = use.examples[p];
        add_scaled(out[b] * slopes[use.positions[p]], input.row(b), input.cols, gradient);
      }
    }
  });
}

template <class T>
void add_bias_gradients(LayerRun<T>& run, const SampledRows& rows, std::span<const T> slopes) {
  const KeyUse& use = run.use(rows.bias_use);
  const T* const out = run.output_gradient().data;
  T* const gradients = run.row_gradients(rows.bias);
  for (size_t b = 0; b + 1 < use.offsets.size(); ++b) {
    for (size_t k = use.offsets[b]; k < use.offsets[b + 1]; ++k)
      gradients[use.index[k]] += out[b] * slopes[k];
  }
}

template <class T>
void add_input_gradients(LayerRun<T>& run, const SampledRows& rows, std::span<const T> slopes) {
  const Matrix<T> gradient = run.input_gradient(0);
  if (!gradient) return;
  const KeyUse& use = run.use(rows.weight_use);
  const T* const out = run.output_gradient().data;
  const T* const* weight = run.rows(rows.weight);
  const int64_t block = examples_per_block(use, gradient.rows, gradient.cols);
  run.device().for_each(gradient.rows, block, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      for (size_t k = use.offsets[static_cast<size_t>(b)]; k < use.offsets[static_cast<size_t>(b) + 1]; ++k) {
        add_scaled(out[b] * slopes[k], weight[use.index[k]], gradient.cols, gradient.row(b));
      }
    }
  });
}

}  // namespace

const ObjectSpec<SampledLayerOptions>& SampledLayerOptions::spec() {
  static const ObjectSpec<SampledLayerOptions> spec = [] {
    ObjectSpec<SampledLayerOptions> s;
    s.include(WeightedLayerOptions::spec());
    s.field("num_classes", &SampledLayerOptions::num_classes, "labels are whole numbers below it")
        .must()
        .at_least(2)
        .at_most(static_cast<double>(kMaxClasses));
    s.field("sparse_update", &SampledLayerOptions::sparse_update,
            "rows live in a table; only those used are updated");
    s.field("bias", &SampledLayerOptions::bias, "start and tuning of the bias, or false for none");
    return s;
  }();
  return spec;
}

SampledRows declare_sampled_rows(LayerSetup& setup, std::string_view layer,
                                 const SampledLayerOptions& options, int64_t rows) {
  require_one_input(setup, layer);
  require_dense_inputs(setup, layer);
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
void score_samples(LayerRun<T>& run, const SampledRows& rows, std::vector<T>& scores) {
  const KeyUse& use = run.use(rows.weight_use);
  const Matrix<const T> input = run.input(0);
  const T* const* weight = run.rows(rows.weight);
  const T* const* bias = rows.bias < 0 ? nullptr : run.rows(rows.bias);
  const uint32_t* bias_index = bias ? run.use(rows.bias_use).index.data() : nullptr;
  const int64_t block = examples_per_block(use, input.rows, input.cols);
  scores.resize(use.index.size());
  run.device().for_each(input.rows, block, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      for (size_t k = use.offsets[static_cast<size_t>(b)]; k < use.offsets[static_cast<size_t>(b) + 1]; ++k) {
        scores[k] = dot(weight[use.index[k]], input.row(b), input.cols);
        if (bias) scores[k] += *bias[bias_index[k]];
      }
    }
  });
}

template <class T>
void add_sample_gradients(LayerRun<T>& run, const SampledRows& rows, std::span<const T> slopes) {
  add_weight_gradients(run, rows, slopes);
  if (rows.bias >= 0) add_bias_gradients(run, rows, slopes);
  add_input_gradients(run, rows, slopes);
}

template void score_samples(LayerRun<float>&, const SampledRows&, std::vector<float>&);
template void score_samples(LayerRun<double>&, const SampledRows&, std::vector<double>&);
template void add_sample_gradients(LayerRun<float>&, const SampledRows&, std::span<const float>);
template void add_sample_gradients(LayerRun<double>&, const SampledRows&, std::span<const double>);

}  // namespace ps
