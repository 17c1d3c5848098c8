// The cells of recurrent layers: a step of each, element by element; the products with their weights are those of
// math/gemm.h.  Used by the layers gru and lstm (model/layers/recurrent.h).  T is float or double.
//
// The equations are those of torch.nn.GRU and torch.nn.LSTM, with states h and c of width H that begin with 0:
//   GRU, Cho et al., EMNLP 2014, with the reset gate after the product; gates in the order r, z, n:
//     r = sigmoid(x_r + u_r)   z = sigmoid(x_z + u_z)   n = tanh(x_n + r u_n)   h' = (1 - z) n + z h
//   LSTM, Hochreiter and Schmidhuber, Neural Computation 1997, with the forget gate of Gers et al., ibid. 2000;
//   gates in the order i, f, g, o:
//     i, f, o = sigmoid(x + u)   g = tanh(x_g + u_g)   c' = f c + i g   h' = o tanh(c')
// where x [G H] are the products of the step's input, plus a bias, and u [G H] those of the state h before.
#ifndef PS_MATH_RECURRENT_H_
#define PS_MATH_RECURRENT_H_

#include <cstdint>

#include "math/device.h"

namespace ps {

// Packed rows (math/sequences.h) of a step: [begin, begin + rows).  The row before the i-th of them is before + i;
// in the first step, `before` is -1: states before are 0.
struct RecurrentStep {
  int64_t begin, rows, before;
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

// A cell: its gates, G; whether it has cells c beside its states; and whether the last gate has a bias among the products
// of the state too, which is then not the same as one among those of the input.
struct GruCell {
  static constexpr const char* kName = "gru";  // of the layer
  static constexpr int64_t kGates = 3;
  static constexpr bool kHasCells = false, kHiddenBias = true;

  template <class T>
  static void step(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays);
  template <class T>
  static void step_backward(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays,
                            const CellGradients<T>& gradients);
};

struct LstmCell {
  static constexpr const char* kName = "lstm";
  static constexpr int64_t kGates = 4;
  static constexpr bool kHasCells = true, kHiddenBias = false;

  template <class T>
  static void step(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays);
  template <class T>
  static void step_backward(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays,
                            const CellGradients<T>& gradients);
};

}  // namespace ps

#endif  // PS_MATH_RECURRENT_H_
