// Functions of logits that neither overflow nor cancel.  Used by costs and the layers that are costs.
#ifndef PS_MODEL_STABLE_H_
#define PS_MODEL_STABLE_H_

#include <algorithm>
#include <cmath>

namespace ps {

// log(1 + e^x)
template <class T>
T log1p_exp(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

// 1 / (1 + e^-x)
template <class T>
T logistic(T x) {
  T small = std::exp(-std::abs(x));
  return (x >= 0 ? T(1) : small) / (1 + small);
}

}  // namespace ps

#endif  // PS_MODEL_STABLE_H_
