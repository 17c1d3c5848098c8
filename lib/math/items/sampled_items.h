// The items of the kernels of math/sampled_kernels.h and math/softmax_over_rows.h.  Devices with memory of their own run
// them all (math/device_kernels.h); where they are values, the processor has loops over rows, which add in the same order.
//
// Shapes as there: B examples of D values, K drawn ids, example b's at [offsets[b], offsets[b + 1]), N unique ids.
#ifndef PS_MATH_ITEMS_SAMPLED_ITEMS_H_
#define PS_MATH_ITEMS_SAMPLED_ITEMS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "math/items/sequence_items.h"
#include "math/kernels/kernels.h"
#include "math/matrix.h"
#include "math/stable.h"

namespace ps {

// Slopes: slopes[k] = d(output of k's example) / d(scores[k]), and out_gradient [B], the gradient of the
// output.
template <class T>
struct SampledSlopes {
  const T* slopes;        // [K]
  const T* out_gradient;  // [B]
};

// Computes eight sums side by side, which the compiler turns into one vector.
template <class T>
constexpr T sampled_dot(const T* a, const T* b, int64_t size) {
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

// Item k is a drawn id.
template <class T>
struct SampleScoreItems {
  const uint32_t* offsets;
  int64_t examples;
  const uint32_t* index;       // [K]: its row
  const T* const* weight;      // [N] rows
  const uint32_t* bias_index;  // [K]
  const T* const* bias;        // [N] pointers to one value, null: none
  Matrix<const T> input;
  T* scores;

  constexpr void operator()(int64_t k) const { score(segment_of(offsets, examples, k), k); }

  // The same, where the example of the id is known.
  constexpr void score(int64_t b, int64_t k) const {
    const T sum = sampled_dot<T>(weight[index[k]], input.data + b * input.cols, input.cols);
    scores[k] = bias == nullptr ? sum : sum + *bias[bias_index[k]];
  }
};

// Item i is a value of the gradients of touched rows, [M, D].
template <class T>
struct SampleWeightGradientItems {
  UseView use;
  Matrix<const T> input;
  SampledSlopes<T> slopes;
  T* row_gradients;

  constexpr void operator()(int64_t i) const {
    const int64_t m = i / input.cols, d = i % input.cols;
    T sum = row_gradients[use.touched[m] * input.cols + d];
    for (uint32_t p = use.starts[m]; p < use.starts[m + 1]; ++p) {
      const int64_t b = use.examples[p];
      const T slope = slopes.out_gradient[b] * slopes.slopes[use.positions[p]];
      sum += slope * input.data[b * input.cols + d];
    }
    row_gradients[use.touched[m] * input.cols + d] = sum;
  }
};

// Item m is a touched row of one value.
template <class T>
struct SampleBiasGradientItems {
  UseView use;
  SampledSlopes<T> slopes;
  T* row_gradients;

  constexpr void operator()(int64_t m) const {
    T sum = row_gradients[use.touched[m]];
    for (uint32_t p = use.starts[m]; p < use.starts[m + 1]; ++p)
      sum += slopes.out_gradient[use.examples[p]] * slopes.slopes[use.positions[p]];
    row_gradients[use.touched[m]] = sum;
  }
};

// Item i is a value of the gradients of the input, [B, D].
template <class T>
struct SampleInputGradientItems {
  const uint32_t *offsets, *index;
  const T* const* weight;
  SampledSlopes<T> slopes;
  Matrix<T> input_gradients;

  constexpr void operator()(int64_t i) const {
    const int64_t b = i / input_gradients.cols, d = i % input_gradients.cols;
    T sum = input_gradients.data[i];
    for (uint32_t k = offsets[b]; k < offsets[b + 1]; ++k)
      sum += slopes.out_gradient[b] * slopes.slopes[k] * weight[index[k]][d];
    input_gradients.data[i] = sum;
  }
};

// Item b is an example: its cost is that of telling its label from its noise, given log_noise [K].
template <class T>
struct NceItems {
  const uint32_t* offsets;
  const double* log_noise;
  T *scores, *costs;

  constexpr void operator()(int64_t b) const {
    const uint32_t first = offsets[b];
    T cost = 0;
    for (uint32_t k = first; k < offsets[b + 1]; ++k) cost += tell_apart(k, k == first);
    costs[b] = cost;
  }

 private:
  // Returns the cost of telling the label from a class drawn from noise; the score becomes its derivative by the score.
  constexpr T tell_apart(uint32_t k, bool is_label) const {
    const T logit = scores[k] - static_cast<T>(log_noise[k]);
    scores[k] = is_label ? -logistic(-logit) : logistic(logit);
    return log1p_exp(is_label ? -logit : logit);
  }
};

// Item b is an example: its ids are the nodes of a path upwards from the leaf of its label.
template <class T>
struct TreeItems {
  const uint32_t* offsets;
  const float* labels;
  int64_t num_classes;
  T *scores, *costs;

  constexpr void operator()(int64_t b) const {
    uint64_t node = static_cast<uint64_t>(labels[b]) + static_cast<uint64_t>(num_classes);
    T cost = 0;
    for (uint32_t k = offsets[b]; k < offsets[b + 1]; ++k, node >>= 1) {
      const T score = scores[k];
      const bool right = node & 1;
      cost += log1p_exp(right ? -score : score);
      scores[k] = right ? -logistic(-score) : logistic(score);
    }
    costs[b] = cost;
  }
};

// Rows of classes that may lie anywhere: class c has rows[index[c]].
template <class T>
struct ClassRows {
  const T* const* rows;
  const uint32_t* index;

  constexpr const T* row(int64_t c) const { return rows[index[c]]; }
};

// Item i is a value of out [c, D], the rows of the classes from `first`.
template <class T>
struct ClassRowItems {
  ClassRows<T> weight;
  int64_t first;
  Matrix<T> out;

  constexpr void operator()(int64_t i) const { out.data[i] = weight.row(first + i / out.cols)[i % out.cols]; }
};

// Item i is a score [B, c], which begins with the bias of its class, or 0.
template <class T>
struct ClassBiasItems {
  ClassRows<T> bias;  // rows of one value, or null
  int64_t first;
  Matrix<T> scores;

  constexpr void operator()(int64_t i) const {
    scores.data[i] = bias.rows == nullptr ? T(0) : *bias.row(first + i % scores.cols);
  }
};

// The sums of one example over the classes so far: the largest score, the sum of e^(s - largest), and the
// label's score.
struct ClassSums {
  double largest, sum, label;
};

// Item b is an example: the scores of the classes from `first` are added to its sums, which begin anew at class
// 0.
template <class T>
struct ClassSumItems {
  Matrix<const T> scores;
  const float* labels;
  int64_t first;
  ClassSums* sums;

  constexpr void operator()(int64_t b) const {
    const T* s = scores.data + b * scores.cols;
    ClassSums& all = sums[b];
    const int64_t label = static_cast<int64_t>(labels[b]) - first;
    if (first == 0) all.label = 0;
    if (label >= 0 && label < scores.cols) all.label = static_cast<double>(s[label]);
    T highest = s[0];
    for (int64_t c = 1; c < scores.cols; ++c) highest = std::max(highest, s[c]);
    const double before = all.largest;
    const double largest =
        first == 0 ? static_cast<double>(highest) : std::max(before, static_cast<double>(highest));
    double sum = 0;
    for (int64_t c = 0; c < scores.cols; ++c)
      sum += static_cast<double>(std::exp(static_cast<T>(static_cast<double>(s[c]) - largest)));
    all.sum = first == 0 ? sum : all.sum * std::exp(before - largest) + sum;
    all.largest = largest;
  }
};

template <class T>
struct ClassCostItems {
  const ClassSums* sums;
  T* costs;

  constexpr void operator()(int64_t b) const {
    costs[b] = static_cast<T>(std::log(sums[b].sum) + (sums[b].largest - sums[b].label));
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_SAMPLED_ITEMS_H_
