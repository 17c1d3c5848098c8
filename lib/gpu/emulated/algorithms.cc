#include "gpu/algorithms.h"

#include <Eigen/Core>
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace ps::gpu {

inline namespace PS_GPU_NAMESPACE {

namespace {

uint64_t bytes_of(int64_t size, uint64_t each) {
  return static_cast<uint64_t>(size) * each;
}

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Strided = Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>;

// Throws kInternal unless the operand of `rows` x `columns` lies on the device.
void check_operand(const Stream& stream, const DeviceMatrix& m, int64_t rows, int64_t columns) {
  if (m.transposed) std::swap(rows, columns);
  if (rows == 0 || columns == 0) return;
  stream.check_on_device(m.data, bytes_of((rows - 1) * m.stride + columns, sizeof(float)));
}

// Returns the number of keys that the next one repeats.
int64_t num_equal_to_the_next(const uint64_t* keys, int64_t size) {
  int64_t equal = 0;
  for (int64_t i = 1; i < size; ++i) equal += keys[i] == keys[i - 1];
  return equal;
}

// The operand of `rows` x `columns` as a plain matrix.
RowMajor operand(const DeviceMatrix& m, int64_t rows, int64_t columns) {
  if (m.transposed) return Strided(m.data, columns, rows, Eigen::OuterStride<>(m.stride)).transpose();
  return Strided(m.data, rows, columns, Eigen::OuterStride<>(m.stride));
}

}  // namespace

// A stable sort of the order of pairs by the lowest num_bits of their keys, which is the result of the
// radix sort of CUB on a device.
template <class Key>
void sort_pairs(Stream& stream, Workspace&, const KeyPairs<Key>& pairs, int num_bits) {
  stream.check_on_device(pairs.keys, bytes_of(pairs.size, sizeof(Key)));
  stream.check_on_device(pairs.values, bytes_of(pairs.size, sizeof(uint32_t)));
  stream.check_on_device(pairs.sorted_keys, bytes_of(pairs.size, sizeof(Key)));
  stream.check_on_device(pairs.sorted_values, bytes_of(pairs.size, sizeof(uint32_t)));
  stream.enqueue([=] {
    std::vector<uint32_t> order(static_cast<size_t>(pairs.size));
    std::iota(order.begin(), order.end(), 0u);
    const Key mask = ~Key{0} >> (8 * static_cast<int>(sizeof(Key)) - num_bits);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t x, uint32_t y) { return (pairs.keys[x] & mask) < (pairs.keys[y] & mask); });
    for (size_t i = 0; i < order.size(); ++i) {
      pairs.sorted_keys[i] = pairs.keys[order[i]];
      pairs.sorted_values[i] = pairs.values[order[i]];
    }
  });
}

template void sort_pairs(Stream&, Workspace&, const KeyPairs<uint32_t>&, int);
template void sort_pairs(Stream&, Workspace&, const KeyPairs<uint64_t>&, int);

void exclusive_scan(Stream& stream, Workspace&, const uint32_t* in, uint32_t* out, int64_t size) {
  stream.check_on_device(in, bytes_of(size, sizeof(uint32_t)));
  stream.check_on_device(out, bytes_of(size, sizeof(uint32_t)));
  stream.enqueue([=] { std::exclusive_scan(in, in + size, out, 0u); });
}

void find_runs(Stream& stream, Workspace&, const uint64_t* keys, int64_t size, uint64_t* run_keys,
               uint32_t* lengths, uint32_t* num_runs) {
  stream.check_on_device(keys, bytes_of(size, sizeof(uint64_t)));
  stream.check_on_device(num_runs, sizeof(uint32_t));
  stream.enqueue([=, &stream] {
    const int64_t num_outputs = size - num_equal_to_the_next(keys, size);
    stream.check_on_device(run_keys, bytes_of(num_outputs, sizeof(uint64_t)));
    stream.check_on_device(lengths, bytes_of(num_outputs, sizeof(uint32_t)));
    // Run `runs` - 1 is the one that grows.
    uint32_t runs = 0;
    for (int64_t i = 0; i < size; ++i) {
      if (i == 0 || keys[i] != keys[i - 1]) {
        run_keys[runs] = keys[i];
        lengths[runs++] = 0;
      }
      ++lengths[runs - 1];
    }
    *num_runs = runs;
  });
}

void select(Stream& stream, Workspace&, const uint32_t* values, const uint8_t* flags, int64_t size,
            uint32_t* selected, uint32_t* num_selected) {
  stream.check_on_device(values, bytes_of(size, sizeof(uint32_t)));
  stream.check_on_device(flags, bytes_of(size, sizeof(uint8_t)));
  stream.check_on_device(num_selected, sizeof(uint32_t));
  stream.enqueue([=, &stream] {
    const int64_t num_outputs = size - std::count(flags, flags + size, 0);
    stream.check_on_device(selected, bytes_of(num_outputs, sizeof(uint32_t)));
    uint32_t count = 0;
    for (int64_t i = 0; i < size; ++i) {
      if (flags[i] != 0) selected[count++] = values[i];
    }
    *num_selected = count;
  });
}

void multiply(Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b, int64_t m, int64_t n, int64_t k,
              float beta, float* c, int64_t stride) {
  if (m > 0 && n > 0) {
    stream.check_on_device(c, bytes_of((m - 1) * stride + n, sizeof(float)));
    check_operand(stream, a, m, k);
    check_operand(stream, b, k, n);
  }
  stream.enqueue([=] {
    Eigen::Map<RowMajor, 0, Eigen::OuterStride<>> out(c, m, n, Eigen::OuterStride<>(stride));
    // C may hold anything if beta is 0, NaN too, and so must be set and not multiplied, as cuBLAS does it.
    if (beta == 0) {
      out.setZero();
    } else {
      out *= beta;
    }
    if (k > 0) out.noalias() += operand(a, m, k) * operand(b, k, n);
  });
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps::gpu
