// The items of the kernels of math/recurrent.h: a value of the state, in a step.  The processor and devices with memory
// of their own both compile them (math/device_kernels.h): a device runs one after the other, the processor rows of them.
#ifndef PS_MATH_ITEMS_RECURRENT_ITEMS_H_
#define PS_MATH_ITEMS_RECURRENT_ITEMS_H_

#include <cmath>
#include <cstdint>

#include "math/stable.h"

namespace ps {

// Packed rows (math/sequences.h) of a step: [begin, begin + rows).  The row before the i-th of them is before + i;
// in the first step, `before` is -1: states before are 0.
struct RecurrentStep {
  int64_t begin, rows, before;

  constexpr int64_t row(int64_t i) const { return begin + i; }
  constexpr int64_t row_before(int64_t i) const { return before < 0 ? -1 : before + i; }
};

// Arrays of K packed rows of a cell, which has G gates.
template <class T>
struct CellArrays {
  int64_t width;      // H
  T* gates;           // [K, G H]: x, which a step replaces by the gates
  const T* hidden;    // [K, G H]: u
  T *states, *cells;  // [K, H]: h' and c'; a GRU has no cells
};

// Gradients of the same.  A step backward reads those of its states (and cells) and writes the others; it adds to
// those of the states (and cells) of the step before, but not the part that goes through u.
template <class T>
struct CellGradients {
  T *gates, *hidden;  // [K, G H]: of x and u, written; those of an LSTM are equal: `hidden` is not used
  T *states, *cells;  // [K, H]
};

// tanh(x) = (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x: exact to the rounding of 1, as states need, in a third of
// the time of std::tanh, which is exact near 0 too.
template <class T>
constexpr T gate_tanh(T x) {
  const T small = std::exp(T(-2) * std::abs(x));
  return std::copysign((T(1) - small) / (T(1) + small), x);
}

// The value of a state before, which is 0 in the first step.
template <class T>
constexpr T value_before(const T* states, int64_t row, int64_t width, int64_t j) {
  return row < 0 ? T(0) : states[row * width + j];
}

// In these, at(i, j) computes value j of row i of the step; item i H + j is the same.
template <class T>
struct GruItems {
  RecurrentStep step;
  CellArrays<T> a;

  constexpr void operator()(int64_t i) const { at(i / a.width, i % a.width); }

  constexpr void at(int64_t i, int64_t j) const {
    const int64_t width = a.width, p = step.row(i);
    T* gates = a.gates + 3 * width * p;
    const T* hidden = a.hidden + 3 * width * p;
    const T r = logistic(gates[j] + hidden[j]);
    const T z = logistic(gates[width + j] + hidden[width + j]);
    const T n = gate_tanh(gates[2 * width + j] + r * hidden[2 * width + j]);
    a.states[p * width + j] = (T(1) - z) * n + z * value_before<T>(a.states, step.row_before(i), width, j);
    gates[j] = r, gates[width + j] = z, gates[2 * width + j] = n;
  }
};

// With dh the gradient of h':  dn = dh (1 - z) (1 - n^2),  dz = dh (h - n) z (1 - z),  dr = dn u_n r (1 - r),
// and dn r is the gradient of u_n.
template <class T>
struct GruGradientItems {
  RecurrentStep step;
  CellArrays<T> a;
  CellGradients<T> g;

  constexpr void operator()(int64_t i) const { at(i / a.width, i % a.width); }

  constexpr void at(int64_t i, int64_t j) const {
    const int64_t width = a.width, p = step.row(i), before = step.row_before(i);
    const T *gates = a.gates + 3 * width * p, *hidden = a.hidden + 3 * width * p;
    T *to = g.gates + 3 * width * p, *to_hidden = g.hidden + 3 * width * p;
    const T r = gates[j], z = gates[width + j], n = gates[2 * width + j], dh = g.states[p * width + j];
    const T dn = dh * (T(1) - z) * (T(1) - n * n);
    to[j] = to_hidden[j] = dn * hidden[2 * width + j] * r * (T(1) - r);
    to[width + j] = to_hidden[width + j] =
        dh * (value_before<T>(a.states, before, width, j) - n) * z * (T(1) - z);
    to[2 * width + j] = dn;
    to_hidden[2 * width + j] = dn * r;
    if (before >= 0) g.states[before * width + j] += dh * z;
  }
};

template <class T>
struct LstmItems {
  RecurrentStep step;
  CellArrays<T> a;

  constexpr void operator()(int64_t i) const { at(i / a.width, i % a.width); }

  constexpr void at(int64_t row, int64_t j) const {
    const int64_t width = a.width, p = step.row(row);
    T* gates = a.gates + 4 * width * p;
    const T* hidden = a.hidden + 4 * width * p;
    const T i = logistic(gates[j] + hidden[j]);
    const T f = logistic(gates[width + j] + hidden[width + j]);
    const T c = gate_tanh(gates[2 * width + j] + hidden[2 * width + j]);
    const T o = logistic(gates[3 * width + j] + hidden[3 * width + j]);
    const T cell = f * value_before<T>(a.cells, step.row_before(row), width, j) + i * c;
    a.cells[p * width + j] = cell;
    a.states[p * width + j] = o * gate_tanh(cell);
    gates[j] = i, gates[width + j] = f, gates[2 * width + j] = c, gates[3 * width + j] = o;
  }
};

// With dh the gradient of h' and dc that of c', which comes from the step after:  dc += dh o (1 - tanh(c')^2),
// do = dh tanh(c') o (1 - o), di = dc g i (1 - i),  df = dc c f (1 - f),  dg = dc i (1 - g^2),  and dc f is the
// gradient of c.
template <class T>
struct LstmGradientItems {
  RecurrentStep step;
  CellArrays<T> a;
  CellGradients<T> g;

  constexpr void operator()(int64_t i) const { at(i / a.width, i % a.width); }

  constexpr void at(int64_t row, int64_t j) const {
    const int64_t width = a.width, p = step.row(row), before = step.row_before(row);
    const T* gates = a.gates + 4 * width * p;
    T* to = g.gates + 4 * width * p;
    const T i = gates[j], f = gates[width + j], c = gates[2 * width + j], o = gates[3 * width + j];
    const T dh = g.states[p * width + j], height = gate_tanh(a.cells[p * width + j]);
    const T dc = g.cells[p * width + j] + dh * o * (T(1) - height * height);
    to[j] = dc * c * i * (T(1) - i);
    to[width + j] = dc * value_before<T>(a.cells, before, width, j) * f * (T(1) - f);
    to[2 * width + j] = dc * i * (T(1) - c * c);
    to[3 * width + j] = dh * height * o * (T(1) - o);
    if (before >= 0) g.cells[before * width + j] += dc * f;
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_RECURRENT_ITEMS_H_
