#include "math/gemm.h"

#include <algorithm>
#include <type_traits>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/kernels/kernels.h"

namespace ps {

// Calls product(rows) for blocks of rows of `out`, in parallel; `depth` is the length of its sums.
template <class T, class Product>
static void for_row_blocks(Device& device, Matrix<T> out, int64_t depth, Product&& product) {
  if (out.size() == 0 || depth == 0) return;
  // Kernels work on panels of rows: blocks below 16 rows would pack the other factor for too little use of
  // it.
  constexpr int64_t kMinRows = 16;
  device.for_each(out.rows, std::max(kMinRows, block_items(out.cols * depth)),
                  [&](int64_t begin, int64_t end) {
                    product(Block{begin, end});
                  });
}

// Computes the product on a device with memory of its own.  Returns false if `device` is the processor.  It
// multiplies floats alone; doubles are for tests of gradients, on the processor.
template <class T>
static bool multiply_there(Device& device, Matrix<const T> a, bool a_transposed, Matrix<const T> b,
                           bool b_transposed, Matrix<T> out) {
  if constexpr (std::is_same_v<T, float>) {
    if (DeviceKernels* there = device.kernels().get()) {
      const int64_t depth = a_transposed ? a.rows : a.cols;
      if (out.size() == 0 || depth == 0) return true;
      there->add_product({a.data, a.cols, a_transposed}, {b.data, b.cols, b_transposed}, out.rows, out.cols,
                         depth, out.data);
      return true;
    }
  }
  return false;
}

template <class T>
void add_product(Device& device, Matrix<const T> a, Matrix<const T> b, Matrix<T> out) {
  if (multiply_there(device, a, false, b, false, out)) return;
  for_row_blocks(device, out, a.cols,
                 [&](Block rows) { math_kernels<T>(device.cpu()).add_product(a, b, rows, out); });
}

template <class T>
void add_product_transposed_left(Device& device, Matrix<const T> a, Matrix<const T> b, Matrix<T> out) {
  if (multiply_there(device, a, true, b, false, out)) return;
  for_row_blocks(device, out, a.rows, [&](Block rows) {
    math_kernels<T>(device.cpu()).add_product_transposed_left(a, b, rows, out);
  });
}

template <class T>
void add_product_transposed_right(Device& device, Matrix<const T> a, Matrix<const T> b, Matrix<T> out) {
  if (multiply_there(device, a, false, b, true, out)) return;
  for_row_blocks(device, out, a.cols, [&](Block rows) {
    math_kernels<T>(device.cpu()).add_product_transposed_right(a, b, rows, out);
  });
}

#define PS_INSTANTIATE(T)                                                                          \
  template void add_product(Device&, Matrix<const T>, Matrix<const T>, Matrix<T>);                 \
  template void add_product_transposed_left(Device&, Matrix<const T>, Matrix<const T>, Matrix<T>); \
  template void add_product_transposed_right(Device&, Matrix<const T>, Matrix<const T>, Matrix<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
