#include "math/sampled_kernels.h"

#include <algorithm>
#include <cmath>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/stable.h"

namespace ps {

namespace {

// Computes eight sums side by side, which the compiler turns into one vector.
template <class T>
T sampled_dot(const T* a, const T* b, int64_t size) {
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
void sampled_add(T scale, const T* in, int64_t size, T* out) {
  for (int64_t d = 0; d < size; ++d) out[d] += scale * in[d];
}

// Returns the operations that one example takes, if each id takes `cols`.
int64_t example_work(const KeyUse& use, int64_t examples, int64_t cols) {
  return (static_cast<int64_t>(use.index.size()) / std::max<int64_t>(1, examples) + 1) * cols;
}

// Returns the cost of telling the label from a class drawn from noise; `score` becomes its derivative by the
// score.
template <class T>
T tell_apart(T& score, double log_noise, bool is_label) {
  const T logit = score - static_cast<T>(log_noise);
  score = is_label ? -logistic(-logit) : logistic(logit);
  return log1p_exp(is_label ? -logit : logit);
}

}  // namespace

template <class T>
void score_samples(Device& device, const SampledWeights<T>& rows, Matrix<const T> input, T* scores) {
  const KeyUse& use = *rows.use;
  const uint32_t* bias_index = rows.bias ? rows.bias_use->index.data() : nullptr;
  for_items(device, input.rows, example_work(use, input.rows, input.cols), [=, &use](int64_t b) {
    const size_t example = static_cast<size_t>(b);
    for (size_t k = use.offsets[example]; k < use.offsets[example + 1]; ++k) {
      scores[k] = sampled_dot(rows.weight[use.index[k]], input.row(b), input.cols);
      if (rows.bias) scores[k] += *rows.bias[bias_index[k]];
    }
  });
}

template <class T>
void add_sample_weight_gradients(Device& device, const KeyUse& use, Matrix<const T> input,
                                 const SampledSlopes<T>& slopes, T* row_gradients) {
  const int64_t touched = static_cast<int64_t>(use.touched.size());
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

// Runs on one thread: an id may be drawn for any examples, and one value each does not pay for transposing.
template <class T>
void add_sample_bias_gradients(Device& device, const KeyUse& use, const SampledSlopes<T>& slopes,
                               T* row_gradients) {
  device.run(1, [&](int64_t) {
    for (size_t b = 0; b + 1 < use.offsets.size(); ++b) {
      for (size_t k = use.offsets[b]; k < use.offsets[b + 1]; ++k)
        row_gradients[use.index[k]] += slopes.out_gradient[b] * slopes.slopes[k];
    }
  });
}

template <class T>
void add_sample_input_gradients(Device& device, const SampledWeights<T>& rows, const SampledSlopes<T>& slopes,
                                Matrix<T> input_gradients) {
  const KeyUse& use = *rows.use;
  const Matrix<T> out = input_gradients;
  for_items(device, out.rows, example_work(use, out.rows, out.cols), [=, &use](int64_t b) {
    const size_t example = static_cast<size_t>(b);
    for (size_t k = use.offsets[example]; k < use.offsets[example + 1]; ++k) {
      sampled_add(slopes.out_gradient[b] * slopes.slopes[k], rows.weight[use.index[k]], out.cols, out.row(b));
    }
  });
}

template <class T>
void nce_costs(Device& device, const KeyList& drawn, const NoiseDistribution& noise, int64_t negatives,
               T* scores, T* costs) {
  constexpr int64_t kOperations = 128;  // a class takes as long as so many multiplications
  const int64_t examples = static_cast<int64_t>(drawn.offsets.size()) - 1;
  const double log_negatives = std::log(static_cast<double>(negatives));
  for_items(device, examples, kOperations * (negatives + 1), [=, &noise](int64_t b) {
    const size_t example = static_cast<size_t>(b), first = drawn.offsets[example];
    costs[b] = 0;
    for (size_t k = first; k < drawn.offsets[example + 1]; ++k) {
      const double log_noise = log_negatives + noise.log_probability(static_cast<int64_t>(drawn.keys[k]));
      costs[b] += tell_apart(scores[k], log_noise, k == first);
    }
  });
}

template <class T>
void tree_costs(Device& device, const KeyList& paths, const float* labels, int64_t num_classes, T* scores,
                T* costs) {
  constexpr int64_t kOperations = 2048;  // of an example: some 20 classes of two exponentials each
  const int64_t examples = static_cast<int64_t>(paths.offsets.size()) - 1;
  for_items(device, examples, kOperations, [=](int64_t b) {
    const size_t example = static_cast<size_t>(b);
    uint64_t node = static_cast<uint64_t>(labels[b]) + static_cast<uint64_t>(num_classes);
    costs[b] = 0;
    for (size_t k = paths.offsets[example]; k < paths.offsets[example + 1]; ++k, node >>= 1) {
      const T score = scores[k];
      const bool right = node & 1;
      costs[b] += log1p_exp(right ? -score : score);
      scores[k] = right ? -logistic(-score) : logistic(score);
    }
  });
}

#define PS_INSTANTIATE(T)                                                                              \
  template void score_samples(Device&, const SampledWeights<T>&, Matrix<const T>, T*);                 \
  template void add_sample_weight_gradients(Device&, const KeyUse&, Matrix<const T>,                   \
                                            const SampledSlopes<T>&, T*);                              \
  template void add_sample_bias_gradients(Device&, const KeyUse&, const SampledSlopes<T>&, T*);        \
  template void add_sample_input_gradients(Device&, const SampledWeights<T>&, const SampledSlopes<T>&, \
                                           Matrix<T>);                                                 \
  template void nce_costs(Device&, const KeyList&, const NoiseDistribution&, int64_t, T*, T*);         \
  template void tree_costs(Device&, const KeyList&, const float*, int64_t, T*, T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
