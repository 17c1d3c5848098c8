// The step of each optimizer for one weight: a struct of constants with a call operator that updates weight
// and state with a gradient. lib/optim/NAME.cc gives the formula and its source, and makes the constants;
// lib/optim/kernels/steps.cc has the loops, compiled for each level of instruction sets.
//
// Tables in the memory of a device compile them too (lib/table/cuda).
//
// The operator takes the weight, its two state values (a step uses the first kArrays of them) and the
// gradient.
#ifndef PS_OPTIM_KERNELS_STEPS_H_
#define PS_OPTIM_KERNELS_STEPS_H_

#include <cstdint>

#include "optim/kernels/arithmetic.h"

namespace ps {

// Subtracts `move` from a weight, with one step of decay: soft((1 - rate l2) w - move, rate l1). (It is
// written so that 1 - rate l2, which rounds to 1 in float, is never formed.) With coupled l2, `shrink` is 0,
// and regularized() returns the gradient that the step uses.
template <class T>
struct Decay {
  T shrink, threshold;  // rate l2, rate l1
  T coupled = 0;        // l2
  [[gnu::always_inline]] constexpr T operator()(T weight, T move) const {
    return proximal_step(weight, move + shrink * weight, threshold);
  }
  [[gnu::always_inline]] constexpr T regularized(T gradient, T weight) const {
    return gradient + coupled * weight;
  }
};

template <class T>
struct SgdStep {
  using Value = T;
  static constexpr int kArrays = 0;
  T eta;
  Decay<T> decay;

  [[gnu::always_inline]] constexpr void operator()(T& w, T&, T&, T g) const { w = decay(w, eta * g); }
};

template <class T, bool kNesterov>
struct MomentumStep {
  using Value = T;
  static constexpr int kArrays = 1;
  // With decoupled l2, `l2` is 0 and `shrink` is rate l2; with coupled l2, `shrink` is 0.
  T momentum, eta, l2, shrink, threshold;

  [[gnu::always_inline]] constexpr void operator()(T& w, T& moved, T&, T g) const {
    T d = -eta * (g + l2 * w);
    T m = momentum * moved + d;
    moved = m;
    w = proximal_step(w, shrink * w - (kNesterov ? momentum * m + d : m), threshold);
  }
};

template <class T>
struct AdagradStep {
  using Value = T;
  static constexpr int kArrays = 1;
  T eta, epsilon;
  Decay<T> decay;

  [[gnu::always_inline]] constexpr void operator()(T& w, T& squares, T&, T gradient) const {
    const T g = decay.regularized(gradient, w);
    T h = squares + g * g;
    squares = h;
    w = decay(w, eta * g / root(h + epsilon));
  }
};

template <class T>
struct DecayedAdagradStep {
  using Value = T;
  static constexpr int kArrays = 1;
  T eta, epsilon, rho, fresh;
  Decay<T> decay;

  [[gnu::always_inline]] constexpr void operator()(T& w, T& squares, T&, T gradient) const {
    const T g = decay.regularized(gradient, w);
    T h = rho * squares + fresh * g * g;
    squares = h;
    w = decay(w, eta * g / root(h + epsilon));
  }
};

template <class T>
struct AdadeltaStep {
  using Value = T;
  static constexpr int kArrays = 2;
  T eta, epsilon, rho, fresh;
  Decay<T> decay;

  [[gnu::always_inline]] constexpr void operator()(T& w, T& squares, T& moves, T gradient) const {
    const T g = decay.regularized(gradient, w);
    T h = rho * squares + fresh * g * g;
    T d = g * root((moves + epsilon) / (h + epsilon));
    squares = h;
    moves = rho * moves + fresh * d * d;
    w = decay(w, eta * d);
  }
};

template <class T>
struct RmspropStep {
  using Value = T;
  static constexpr int kArrays = 2;
  T eta, epsilon, rho, fresh;
  Decay<T> decay;

  [[gnu::always_inline]] constexpr void operator()(T& w, T& variance, T& mean, T gradient) const {
    const T g = decay.regularized(gradient, w);
    T away = g - mean;
    T v = rho * (variance + fresh * away * away);
    variance = v;
    mean += fresh * away;
    w = decay(w, eta * g / root(v + epsilon));
  }
};

template <class T>
struct AdamStep {
  using Value = T;
  static constexpr int kArrays = 2;
  T eta, unbias, epsilon, beta1, fresh1, beta2, fresh2;
  Decay<T> decay;

  [[gnu::always_inline]] constexpr void operator()(T& w, T& first, T& second, T gradient) const {
    const T g = decay.regularized(gradient, w);
    T m = beta1 * first + fresh1 * g;
    T v = beta2 * second + fresh2 * g * g;
    first = m;
    second = v;
    w = decay(w, eta * m / (root(v * unbias) + epsilon));
  }
};

template <class T>
struct AdamaxStep {
  using Value = T;
  static constexpr int kArrays = 2;
  T eta, epsilon, beta1, fresh, beta2;
  Decay<T> decay;

  [[gnu::always_inline]] constexpr void operator()(T& w, T& first, T& largest, T gradient) const {
    const T g = decay.regularized(gradient, w);
    T m = beta1 * first + fresh * g;
    T u = larger(absolute(g), beta2 * largest);
    first = m;
    largest = u;
    w = decay(w, eta * m / (u + epsilon));
  }
};

template <class T>
struct FtrlStep {
  using Value = T;
  static constexpr int kArrays = 2;
  T per_alpha, slower, beta, l1, l2;
  T smallest;  // the smallest positive normal number

  [[gnu::always_inline]] constexpr void operator()(T& w, T& z, T& squares, T g) const {
    T scaled = g * slower, before = root(squares);
    squares += scaled * scaled;
    T after = root(squares);
    // sqrt(n') - sqrt(n) without cancellation; 0 / tiny when both are zero.
    T sigma = scaled * scaled / larger(after + before, smallest) * per_alpha;
    z += g - sigma * w;
    w = (0 - soft_threshold(z, l1)) / ((beta + after) * per_alpha + l2);  // a minus sign would make zero -0
  }
};

// DO(...) for each step above with values of type T; an argument of DO may have commas.  This is the order of AnyStep.
#define PS_FOR_STEPS(DO, T)  \
  DO(SgdStep<T>)             \
  DO(MomentumStep<T, false>) \
  DO(MomentumStep<T, true>)  \
  DO(AdagradStep<T>)         \
  DO(DecayedAdagradStep<T>)  \
  DO(AdadeltaStep<T>)        \
  DO(RmspropStep<T>)         \
  DO(AdamStep<T>)            \
  DO(AdamaxStep<T>)          \
  DO(FtrlStep<T>)

// One row: weight [width], state [arrays, width] with arrays `stride` apart, gradient [width].  The step
// multiplies the gradient by `scale` and clips it to [-bound, bound].
template <class T>
struct StepRow {
  T *weight, *state;
  int64_t width, stride;
  const T* gradient;
  T scale, bound;
};

// Rows anywhere in memory, each with its state right behind its weights; gradients [num_rows, width].
template <class T>
struct StepRows {
  T* const* starts;
  int64_t num_rows, width;
  const T* gradients;
  T scale, bound;
};

// The loops of one step.
template <class Step>
struct StepKernels {
  void (*row)(const Step& step, const StepRow<typename Step::Value>& row);
  void (*rows)(const Step& step, const StepRows<typename Step::Value>& rows);
};

}  // namespace ps

#endif  // PS_OPTIM_KERNELS_STEPS_H_
