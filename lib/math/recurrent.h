// The cells of recurrent layers.  A kernel computes one step of a cell, element by element; math/gemm.h computes
// the products with the weights.  Used by the layers gru and lstm (model/layers/recurrent.h).  T is float or
// double.
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
#include "math/items/recurrent_items.h"

namespace ps {

// The constants of a cell: the number of gates G, if it has cells c beside its states, and if the last gate has
// a second bias among the products of the state.  That bias differs from the one among the products of the input
// when a gate is applied between the two.
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
