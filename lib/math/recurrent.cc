#include "math/recurrent.h"

#include "base/reals.h"
#include "math/blocks.h"

namespace ps {

namespace {

constexpr int64_t kGateWork = 16;  // operations of a gate: an exponential takes some 5 ns

// Runs the items of a step.  On the processor an item is a row, whose values take `work` operations each.
template <class Items>
void run_step(Device& device, int64_t work, const Items& items) {
  const int64_t rows = items.step.rows, width = items.a.width;
  if (run_there(device, rows * width, items)) return;
  for_items(device, rows, work * width, [=](int64_t i) {
    for (int64_t j = 0; j < width; ++j) items.at(i, j);
  });
}

}  // namespace

template <class T>
void GruCell::step(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays) {
  run_step(device, 3 * kGateWork, GruItems<T>{step, arrays});
}

template <class T>
void GruCell::step_backward(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays,
                            const CellGradients<T>& gradients) {
  run_step(device, 24, GruGradientItems<T>{step, arrays, gradients});
}

template <class T>
void LstmCell::step(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays) {
  run_step(device, 5 * kGateWork, LstmItems<T>{step, arrays});
}

template <class T>
void LstmCell::step_backward(Device& device, const RecurrentStep& step, const CellArrays<T>& arrays,
                             const CellGradients<T>& gradients) {
  run_step(device, 2 * kGateWork, LstmGradientItems<T>{step, arrays, gradients});
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
