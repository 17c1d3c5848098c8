// Order statistics of a few timings.  Used by benchmarks, and by ranks that measure their links and algorithms.
#ifndef PS_BASE_STATISTICS_H_
#define PS_BASE_STATISTICS_H_

#include <utility>
#include <vector>

namespace ps {

// Returns the value below which a share `q`, in [0, 1], of the values lies, interpolated linearly between
// neighbours; q = 0.5 gives the median.  `values` is not empty.
double quantile(std::vector<double> values, double q);

inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

}  // namespace ps

#endif  // PS_BASE_STATISTICS_H_
