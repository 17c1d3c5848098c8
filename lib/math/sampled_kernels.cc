#include "math/sampled_kernels.h"

#include <algorithm>
#include <cmath>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/sparse_kernels.h"

namespace ps {

namespace {

template <class T>
void sampled_add(T scale, const T* in, int64_t size, T* out) {
  for (int64_t d = 0; d < size; ++d) out[d] += scale * in[d];
}

// Returns the operations that one example takes, if each id takes `cols`.
int64_t example_work(const KeyUse& use, int64_t examples, int64_t cols) {
  return (static_cast<int64_t>(use.index.size()) / std::max<int64_t>(1, examples) + 1) * cols;
}

}  // namespace

// On a device an item is an id, which finds its example by a binary search; on the processor an item is an
// example with all its ids, whose input stays in the cache.
template <class T>
void score_samples(Device& device, const SampledWeights<T>& rows, Matrix<const T> input, T* scores) {
  const KeyUse& use = *rows.use;
  const UseView ids = view_use(device, use, nullptr);
  const uint32_t* const bias_index = rows.bias ? view_use(device, *rows.bias_use, nullptr).index : nullptr;
  const SampleScoreItems<T> items{ids.offsets, input.rows, ids.index, rows.weight,
                                  bias_index,  rows.bias,  input,     scores};
  if (run_there(device, ids.num_ids, items)) return;
  for_items(device, input.rows, example_work(use, input.rows, input.cols), [=](int64_t b) {
    for (uint32_t k = ids.offsets[b]; k < ids.offsets[b + 1]; ++k) items.score(b, k);
  });
}

// row_gradients[n] += sum over the uses (b, k) of key n of out_gradient[b] slopes[k] input[b].  An item is
// a touched key, so that each row has one writer, and the sum runs in the order of the examples.
template <class T>
void add_sample_weight_gradients(Device& device, const KeyUse& use, Matrix<const T> input,
                                 const SampledSlopes<T>& slopes, T* row_gradients) {
  const int64_t touched = static_cast<int64_t>(use.touched.size());
  const UseView ids = view_use(device, use, nullptr);
  const SampleWeightGradientItems<T> items{ids, input, slopes, row_gradients};
  if (run_there(device, touched * input.cols, items)) return;
  const int64_t ids_per_key = static_cast<int64_t>(use.positions.size()) / std::max<int64_t>(1, touched) + 1;
  for_items(device, touched, ids_per_key * input.cols, [=, &use](int64_t i) {
    const size_t m = static_cast<size_t>(i);
    T* gradient = row_gradients + use.touched[m] * input.cols;
    for (uint32_t p = use.starts[m]; p < use.starts[m + 1]; ++p) {
      const uint32_t b = use.examples[p];
      sampled_add(slopes.out_gradient[b] * slopes.slopes[use.positions[p]], input.row(b), input.cols,
                  gradient);
    }
  });
}

// Runs on one thread of the processor: an id may be drawn for any examples, and one value each does not pay for
// transposing.  Uses are transposed for devices with memory of their own.
template <class T>
void add_sample_bias_gradients(Device& device, const KeyUse& use, const SampledSlopes<T>& slopes,
                               T* row_gradients) {
  const UseView ids = view_use(device, use, nullptr);
  if (run_there(device, ids.num_touched, SampleBiasGradientItems<T>{ids, slopes, row_gradients})) return;
  device.run(1, [&](int64_t) {
    for (size_t b = 0; b + 1 < use.offsets.size(); ++b) {
      for (size_t k = use.offsets[b]; k < use.offsets[b + 1]; ++k)
        row_gradients[use.index[k]] += slopes.out_gradient[b] * slopes.slopes[k];
    }
  });
}

// input_gradients[b] += sum over the ids k of example b of out_gradient[b] slopes[k] weight[index[k]]
template <class T>
void add_sample_input_gradients(Device& device, const SampledWeights<T>& rows, const SampledSlopes<T>& slopes,
                                Matrix<T> input_gradients) {
  const KeyUse& use = *rows.use;
  const Matrix<T> out = input_gradients;
  const UseView ids = view_use(device, use, nullptr);
  const SampleInputGradientItems<T> items{ids.offsets, ids.index, rows.weight, slopes, out};
  if (run_there(device, out.size(), items)) return;
  for_items(device, out.rows, example_work(use, out.rows, out.cols), [=, &use](int64_t b) {
    const size_t example = static_cast<size_t>(b);
    for (size_t k = use.offsets[example]; k < use.offsets[example + 1]; ++k) {
      sampled_add(slopes.out_gradient[b] * slopes.slopes[k], rows.weight[use.index[k]], out.cols, out.row(b));
    }
  });
}

// log_noise[k] <- log(negatives q(class of k)): the score of a class less this is the log of the odds that
// it is the label, and not one of the negatives drawn from q.
void log_noise_of(Device& processor, std::span<const uint64_t> drawn, const NoiseDistribution& noise,
                  int64_t negatives, std::vector<double>& log_noise) {
  constexpr int64_t kOperations = 48;  // two logarithms take as long as so many multiplications
  const double log_negatives = std::log(static_cast<double>(negatives));
  log_noise.resize(drawn.size());
  for_items(processor, std::ssize(drawn), kOperations, [=, &noise, to = log_noise.data()](int64_t k) {
    to[k] = log_negatives + noise.log_probability(static_cast<int64_t>(drawn[static_cast<size_t>(k)]));
  });
}

template <class T>
void nce_costs(Device& device, std::span<const uint32_t> offsets, std::span<const double> log_noise,
               T* scores, T* costs) {
  constexpr int64_t kOperations = 80;  // a class takes as long as so many multiplications
  const int64_t examples = std::ssize(offsets) - 1, ids = std::ssize(log_noise);
  for_items(device, examples, kOperations * (ids / std::max<int64_t>(1, examples) + 1),
            NceItems<T>{mirror(device, offsets.data(), examples + 1), mirror(device, log_noise.data(), ids),
                        scores, costs});
}

template <class T>
void tree_costs(Device& device, std::span<const uint32_t> offsets, const float* labels, int64_t num_classes,
                T* scores, T* costs) {
  constexpr int64_t kOperations = 2048;  // of an example: some 20 classes of two exponentials each
  const int64_t examples = std::ssize(offsets) - 1;
  for_items(device, examples, kOperations,
            TreeItems<T>{mirror(device, offsets.data(), examples + 1), mirror(device, labels, examples),
                         num_classes, scores, costs});
}

#define PS_INSTANTIATE(T)                                                                              \
  template void score_samples(Device&, const SampledWeights<T>&, Matrix<const T>, T*);                 \
  template void add_sample_weight_gradients(Device&, const KeyUse&, Matrix<const T>,                   \
                                            const SampledSlopes<T>&, T*);                              \
  template void add_sample_bias_gradients(Device&, const KeyUse&, const SampledSlopes<T>&, T*);        \
  template void add_sample_input_gradients(Device&, const SampledWeights<T>&, const SampledSlopes<T>&, \
                                           Matrix<T>);                                                 \
  template void nce_costs(Device&, std::span<const uint32_t>, std::span<const double>, T*, T*);        \
  template void tree_costs(Device&, std::span<const uint32_t>, const float*, int64_t, T*, T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
