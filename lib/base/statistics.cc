#include "base/statistics.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

// The quantile lies at q (n - 1) in the sorted values, between two neighbours in most cases (Hyndman and
// Fan, definition 7, which is that of R and numpy).
double quantile(std::vector<double> values, double q) {
  PS_CHECK(!values.empty() && q >= 0 && q <= 1);
  std::sort(values.begin(), values.end());
  double position = q * static_cast<double>(values.size() - 1);
  size_t below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace ps
