// synthetic_parameter: makes a parameter that belongs to no model.  Used by synthetic jobs, and by tests of
// all code that holds parameters.
#ifndef PS_OPTIM_SYNTHETIC_PARAMETER_H_
#define PS_OPTIM_SYNTHETIC_PARAMETER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "optim/parameter.h"

namespace ps {

// Its weights begin as noise: normal, with deviation 0.5 and seed 7.
inline ParameterSpec synthetic_parameter(std::string name, ParameterKind kind, bool sparse, int64_t rows,
                                         int64_t cols) {
  ParameterSpec spec;
  spec.name = std::move(name);
  spec.kind = kind;
  spec.sparse = sparse;
  spec.rows = rows;
  spec.cols = cols;
  spec.initializer = {Distribution::kNormal, 0, 0.5, 7};
  return spec;
}

}  // namespace ps

#endif  // PS_OPTIM_SYNTHETIC_PARAMETER_H_
