// Order statistics of a few timings.  Used by the runner, and by benchmarks that time their own parts.
#ifndef PS_BENCH_STATISTICS_H_
#define PS_BENCH_STATISTICS_H_

#include <vector>

namespace ps {

// The value below which a share `q`, in [0, 1], of the values lies, linear between neighbours; q = 0.5 is the
// median.  `values` is not empty.
double quantile(std::vector<double> values, double q);

inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

}  // namespace ps

#endif  // PS_BENCH_STATISTICS_H_
