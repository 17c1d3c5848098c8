// Idle steps, in closed form: the rules for one weight, which tables in the memory of a device also compile
// (lib/table/cuda), and the loops that apply them to a row, compiled for each level of instruction sets.
// Used by idle_row.cc, which computes the coefficients.
#ifndef PS_OPTIM_KERNELS_IDLE_H_
#define PS_OPTIM_KERNELS_IDLE_H_

#include <cstdint>

#include "optim/kernels/rounding.h"

namespace ps {

// w <- ww w + wm m, m <- mw w + mm m.  The coefficients are doubles also for rows of floats: 1 - rate l2 is
// so near 1 that its rounding to float would change rate l2 itself, with the same error at every step.
struct LinearMap {
  double ww, wm, mw, mm;
};

// Applies a map to a weight and its momentum.
template <class T>
[[gnu::always_inline]] constexpr void advance_linear_weight(const LinearMap& map, uint64_t dither, T& weight,
                                                            T& momentum) {
  const double w = weight, m = momentum;
  weight = round_evenly<T>(map.ww * w + map.wm * m, dither);
  momentum = round_normal<T>(map.mw * w + map.mm * m);
}

// Multiplies a weight by `keep`, then moves it towards zero by `threshold`.
template <class T>
[[gnu::always_inline]] constexpr void decay_weight(double keep, double threshold, uint64_t dither,
                                                   T& weight) {
  const double w = weight;
  weight = round_evenly<T>(soft_threshold(keep * w, threshold), dither);
}

// Steps of a weight that its running mean takes in.  Their sum is `of_weight` times the weight before them plus
// `of_momentum` times its momentum.
struct MeanChange {
  double of_weight = 0, of_momentum = 0;
  double averaged = 0;  // number of steps in the mean so far
  double steps = 0;     // number of steps to take in; 0: the mean does not change
};

// mean <- the mean of all steps; `sum` is the sum of the weight over the steps to take in.
template <class T>
[[gnu::always_inline]] constexpr void add_to_mean(const MeanChange& change, double sum, uint64_t dither,
                                                  T& mean) {
  const double before = mean;
  mean = round_evenly<T>(before + (sum - change.steps * before) / (change.averaged + change.steps), dither);
}

// Takes in steps that do not change the weight.
template <class T>
[[gnu::always_inline]] constexpr void hold_mean(const MeanChange& change, uint64_t dither, T weight,
                                                T& mean) {
  add_to_mean(change, change.steps * static_cast<double>(weight), dither, mean);
}

// Applies a map to a weight and its momentum, and takes its steps into the mean.
template <class T>
[[gnu::always_inline]] constexpr void advance_linear_mean(const LinearMap& map, const MeanChange& change,
                                                          uint64_t dither, uint64_t dither_of_mean, T& weight,
                                                          T& momentum, T& mean) {
  const double w = weight, m = momentum;
  advance_linear_weight(map, dither, weight, momentum);
  add_to_mean(change, 0.0 + change.of_weight * w + change.of_momentum * m, dither_of_mean, mean);
}

// Idle steps that change each weight of a row in the same way, and the mean of the row's weights, which is its
// last state array.
struct IdleChange {
  enum class Weights { kHeld, kDecayed, kMapped };
  Weights weights = Weights::kHeld;
  bool momentum = false;           // kMapped: the first state array is momentum; else momentum is 0
  LinearMap map = {};              // kMapped
  double keep = 1, threshold = 0;  // kDecayed
  int64_t dither = 0;              // the step of the Dither
  MeanChange mean = {};            // not with kDecayed
};

// Returns the change of a row whose weights stay as they are while its mean, which has `averaged` steps so far,
// takes in `steps` more.
constexpr IdleChange held_change(int64_t averaged, int64_t steps) {
  IdleChange change;
  change.dither = averaged + steps;
  change.mean.averaged = static_cast<double>(averaged);
  change.mean.steps = static_cast<double>(steps);
  return change;
}

template <class T>
struct IdleKernels {
  // Applies the map to weights and their momentum [width].
  void (*advance_linear)(const LinearMap& map, int64_t step, T* weight, T* momentum, int64_t width);
  // Multiplies weights [width] by `keep`, then moves them towards zero by `threshold`.
  void (*advance_decay)(double keep, double threshold, int64_t step, T* weight, int64_t width);
};

}  // namespace ps

#endif  // PS_OPTIM_KERNELS_IDLE_H_
