// Sums of millions of terms without loss of precision: Neumaier, "Rundungsfehleranalyse einiger Verfahren zur
// Summation endlicher Summen", 1974.  So a mean does not depend on the order of the examples, to rounding.
#ifndef PS_MATH_COMPENSATED_SUM_H_
#define PS_MATH_COMPENSATED_SUM_H_

#include <cmath>

namespace ps {

struct CompensatedSum {
  double sum = 0, lost = 0;  // the value is sum + lost

  constexpr void add(double term) {
    double next = sum + term;
    lost += std::abs(sum) >= std::abs(term) ? (sum - next) + term : (term - next) + sum;
    sum = next;
  }

  constexpr void merge(const CompensatedSum& other) {
    add(other.sum);
    lost += other.lost;
  }

  // Once a term was infinite, `lost` is NaN and must be ignored.
  double value() const { return std::isfinite(sum) ? sum + lost : sum; }
};

}  // namespace ps

#endif  // PS_MATH_COMPENSATED_SUM_H_
