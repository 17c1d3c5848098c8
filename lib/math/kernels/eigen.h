// Eigen's matrices for the kernels of one level: the build gives Eigen's namespace another name at each level
// (-DEigen=Eigen_LEVEL), or the linker would take one level's functions for all.
#ifndef PS_MATH_KERNELS_EIGEN_H_
#define PS_MATH_KERNELS_EIGEN_H_

#include <Eigen/Core>

namespace ps::PS_CPU_NAMESPACE {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// To be called before a product.  Eigen splits long sums to fit the caches of the processor that it finds;
// with fixed sizes, sums have the same order on every processor.  32 KiB, 512 KiB and 4 MiB a core are usual
// on servers.
inline void fix_order_of_sums() {
  static const bool fixed = (Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20), true);
  static_cast<void>(fixed);
}

}  // namespace ps::PS_CPU_NAMESPACE

#endif  // PS_MATH_KERNELS_EIGEN_H_
