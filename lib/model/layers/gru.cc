#include "model/layers/recurrent.h"

namespace ps {

namespace {

struct GruCell {
  static constexpr const char* kName = "gru";
  static constexpr int64_t kGates = 3;
  static constexpr bool kHasCells = false, kHiddenBias = true;

  template <class T>
  static void step(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays) {
    gru_step(device, step, arrays);
  }
  template <class T>
  static void step_backward(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays,
                            const CellGradients<T>& gradients) {
    gru_step_backward(device, step, arrays, gradients);
  }
};

template <class T>
using Gru = Recurrent<T, GruCell>;

}  // namespace

extern const LayerEntry kGruLayer = layer_entry<RecurrentOptions, Gru>(
    "gru", "gated recurrent units, which read the rows of a sequence one after the other");

}  // namespace ps
