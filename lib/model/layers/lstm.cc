#include "model/layers/recurrent.h"

namespace ps {

namespace {

struct LstmCell {
  static constexpr const char* kName = "lstm";
  static constexpr int64_t kGates = 4;
  static constexpr bool kHasCells = true, kHiddenBias = false;

  template <class T>
  static void step(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays) {
    lstm_step(device, step, arrays);
  }
  template <class T>
  static void step_backward(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays,
                            const CellGradients<T>& gradients) {
    lstm_step_backward(device, step, arrays, gradients);
  }
};

template <class T>
using Lstm = Recurrent<T, LstmCell>;

}  // namespace

extern const LayerEntry kLstmLayer = layer_entry<RecurrentOptions, Lstm>(
    "lstm", "long short-term memory, which reads the rows of a sequence one after the other");

}  // namespace ps
