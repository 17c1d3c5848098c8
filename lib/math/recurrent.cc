#include "math/recurrent.h"

#include <cmath>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/stable.h"

namespace ps {

namespace {

constexpr int64_t kGateWork = 16;  // an exponential takes some 5 ns

// tanh(x) = (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x: exact to the rounding of 1, as states need, in a third of
// the time of std::tanh, which is exact near 0 too.
template <class T>
T gate_tanh(T x) {
  const T small = std::exp(T(-2) * std::abs(x));
  return std::copysign((T(1) - small) / (T(1) + small), x);
}

// Calls body(p, before) for the packed rows of a step: the row, and that of the step before, or -1.
template <class Body>
void for_step_rows(Device& device, const RecurrentStep& step, int64_t work, const Body& body) {
  for_items(device, step.rows, work,
            [=](int64_t i) { body(step.begin + i, step.before < 0 ? -1 : step.before + i); });
}

// The value of a state before, which is 0 in the first step.
template <class T>
T value_before(const T* states, int64_t row, int64_t width, int64_t j) {
  return row < 0 ? T(0) : states[row * width + j];
}

}  // namespace

template <class T>
void GruCell::step(Device& device, const RecurrentStep& step, const CellArrays<T>& a) {
  const int64_t width = a.width;
  for_step_rows(device, step, 3 * kGateWork * width, [=](int64_t p, int64_t before) {
    T* gates = a.gates + 3 * width * p;
    const T* hidden = a.hidden + 3 * width * p;
    for (int64_t j = 0; j < width; ++j) {
      const T r = logistic(gates[j] + hidden[j]);
      const T z = logistic(gates[width + j] + hidden[width + j]);
      const T n = gate_tanh(gates[2 * width + j] + r * hidden[2 * width + j]);
      a.states[p * width + j] = (T(1) - z) * n + z * value_before(a.states, before, width, j);
      gates[j] = r, gates[width + j] = z, gates[2 * width + j] = n;
    }
  });
}

// With dh of h':  dn = dh (1 - z) (1 - n^2),  dz = dh (h - n) z (1 - z),  dr = dn u_n r (1 - r),  and dn r of u_n.
template <class T>
void GruCell::step_backward(Device& device, const RecurrentStep& step, const CellArrays<T>& a,
                            const CellGradients<T>& g) {
  const int64_t width = a.width;
  for_step_rows(device, step, 24 * width, [=](int64_t p, int64_t before) {
    const T *gates = a.gates + 3 * width * p, *hidden = a.hidden + 3 * width * p;
    T *to = g.gates + 3 * width * p, *to_hidden = g.hidden + 3 * width * p;
    for (int64_t j = 0; j < width; ++j) {
      const T r = gates[j], z = gates[width + j], n = gates[2 * width + j], dh = g.states[p * width + j];
      const T dn = dh * (T(1) - z) * (T(1) - n * n);
      to[j] = to_hidden[j] = dn * hidden[2 * width + j] * r * (T(1) - r);
      to[width + j] = to_hidden[width + j] =
          dh * (value_before(a.states, before, width, j) - n) * z * (T(1) - z);
      to[2 * width + j] = dn;
      to_hidden[2 * width + j] = dn * r;
      if (before >= 0) g.states[before * width + j] += dh * z;
    }
  });
}

template <class T>
void LstmCell::step(Device& device, const RecurrentStep& step, const CellArrays<T>& a) {
  const int64_t width = a.width;
  for_step_rows(device, step, 5 * kGateWork * width, [=](int64_t p, int64_t before) {
    T* gates = a.gates + 4 * width * p;
    const T* hidden = a.hidden + 4 * width * p;
    for (int64_t j = 0; j < width; ++j) {
      const T i = logistic(gates[j] + hidden[j]);
      const T f = logistic(gates[width + j] + hidden[width + j]);
      const T c = gate_tanh(gates[2 * width + j] + hidden[2 * width + j]);
      const T o = logistic(gates[3 * width + j] + hidden[3 * width + j]);
      const T cell = f * value_before(a.cells, before, width, j) + i * c;
      a.cells[p * width + j] = cell;
      a.states[p * width + j] = o * gate_tanh(cell);
      gates[j] = i, gates[width + j] = f, gates[2 * width + j] = c, gates[3 * width + j] = o;
    }
  });
}

// With dh of h' and, from the step after, dc of c':  dc += dh o (1 - tanh(c')^2),  do = dh tanh(c') o (1 - o),
// di = dc g i (1 - i),  df = dc c f (1 - f),  dg = dc i (1 - g^2),  and dc f of c.
template <class T>
void LstmCell::step_backward(Device& device, const RecurrentStep& step, const CellArrays<T>& a,
                             const CellGradients<T>& g) {
  const int64_t width = a.width;
  for_step_rows(device, step, 2 * kGateWork * width, [=](int64_t p, int64_t before) {
    const T* gates = a.gates + 4 * width * p;
    T* to = g.gates + 4 * width * p;
    for (int64_t j = 0; j < width; ++j) {
      const T i = gates[j], f = gates[width + j], c = gates[2 * width + j], o = gates[3 * width + j];
      const T dh = g.states[p * width + j], height = gate_tanh(a.cells[p * width + j]);
      const T dc = g.cells[p * width + j] + dh * o * (T(1) - height * height);
      to[j] = dc * c * i * (T(1) - i);
      to[width + j] = dc * value_before(a.cells, before, width, j) * f * (T(1) - f);
      to[2 * width + j] = dc * i * (T(1) - c * c);
      to[3 * width + j] = dh * height * o * (T(1) - o);
      if (before >= 0) g.cells[before * width + j] += dc * f;
    }
  });
}

#define PS_INSTANTIATE_CELL(Cell, T)                                                     \
  template void Cell::step(Device&, const RecurrentStep&, const CellArrays<T>&);         \
  template void Cell::step_backward(Device&, const RecurrentStep&, const CellArrays<T>&, \
                                    const CellGradients<T>&);
#define PS_INSTANTIATE(T) PS_INSTANTIATE_CELL(GruCell, T) PS_INSTANTIATE_CELL(LstmCell, T)
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE
#undef PS_INSTANTIATE_CELL

}  // namespace ps
