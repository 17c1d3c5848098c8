// Times products of matrices on a device.
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "bench/cuda/device_workload.h"
#include "gpu/algorithms.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// Writes a matrix: element (i, j) of matrix number `which` is value j of key which * size + i.
__global__ void write_matrix(float* values, uint64_t size, uint64_t which) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size * size) values[i] = bench_value(which * size + i / size, static_cast<uint32_t>(i % size));
}

// Products of two square matrices.  The size follows the cube root of the scale, since the work of a
// product grows with the cube of its size.  The result is filled with NaNs before each run, and element (i,
// j) of a matrix is a known function of both, so that check() can compute any element without a copy of the
// matrices.  One owner thread.
class Product final : public DeviceWorkload {
 public:
  Product(const SharedGpu& device, const BenchSettings& settings)
      : DeviceWorkload(device),
        size_(scaled_count(std::cbrt(settings.scale), 4096, 16)),
        a_(*device, size_ * size_),
        b_(*device, size_ * size_),
        c_(*device, size_ * size_) {
    write(a_, 0);
    write(b_, 1);
  }

  void prepare() override { stream().fill(c_.data(), 0xff, c_.bytes()); }

  void run() override {
    time([&] {
      for (int i = 0; i < kProducts; ++i) {
        gpu::multiply(stream(), {a_.data(), size_}, {b_.data(), size_}, size_, size_, size_, 0, c_.data(),
                      size_);
      }
    });
  }

  // Compares a few elements with sums in double, within the bound that gpu::multiply states.
  void check() override {
    std::vector<float> c(static_cast<size_t>(c_.size()));
    stream().copy_to_host(c.data(), c_.data(), c_.bytes());
    stream().synchronize();
    for (int64_t n = 0; n < 256; ++n) {
      const int64_t at = static_cast<int64_t>(hash_key(static_cast<uint64_t>(n)) % c.size());
      check_element(at / size_, at % size_, c[static_cast<size_t>(at)]);
    }
  }

  Work work() const override {
    const double size = static_cast<double>(size_);
    return {.items = 2 * kProducts * size * size * size};
  }

  std::vector<Figure> figures() const override {
    return {{"ms a product", *seconds() / kProducts * 1e3}, {"size", static_cast<double>(size_)}};
  }

 private:
  static constexpr int kProducts = 5;

  void write(const gpu::DeviceArray<float>& matrix, uint64_t which) {
    run_items(write_matrix, static_cast<uint64_t>(matrix.size()), stream(), matrix.data(),
              static_cast<uint64_t>(size_), which);
  }

  // Throws unless element (row, column) is within size * 2^-23 * sum_k |a_ik b_kj| of its sum in double:
  // the bound for sums of `size` rounded products in any order.
  void check_element(int64_t row, int64_t column, float found) const {
    const auto size = static_cast<uint64_t>(size_);
    double sum = 0, magnitude = 0;
    for (uint64_t k = 0; k < size; ++k) {
      const double product = double{bench_value(static_cast<uint64_t>(row), static_cast<uint32_t>(k))} *
                             bench_value(size + k, static_cast<uint32_t>(column));
      sum += product;
      magnitude += std::abs(product);
    }
    const double bound = static_cast<double>(size) * std::ldexp(magnitude, -23);
    // This comparison fails for NaN.
    if (std::abs(found - sum) <= bound) return;
    fail(Code::kInternal, "element ", row, ", ", column, " of the product: ", found, ", expected ", sum);
  }

  const int64_t size_;
  gpu::DeviceArray<float> a_, b_, c_;
};

}  // namespace

std::vector<Benchmark> device_products(const SharedGpu& device) {
  return {
      {.name = "gpu/product",
       .help = "product of two matrices of 4096 x 4096 in single precision: additions and multiplications",
       .unit = "FLOP",
       .make = make_on<Product>(device)}};
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
