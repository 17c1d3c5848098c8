// Values to be copied and changed by kernels.  Used by the planted faults.
#ifndef PS_TESTS_GPU_COUNTING_H_
#define PS_TESTS_GPU_COUNTING_H_

#include <cstddef>
#include <numeric>
#include <vector>

namespace ps {

// 1, 2, …, n.
inline std::vector<int> counting(int n) {
  std::vector<int> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

}  // namespace ps

#endif  // PS_TESTS_GPU_COUNTING_H_
