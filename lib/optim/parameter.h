// What a network says of its parameters to those who hold them: names, shapes, start, tuning.  The network
// itself owns no weights.
#ifndef PS_OPTIM_PARAMETER_H_
#define PS_OPTIM_PARAMETER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "math/initializer.h"
#include "optim/optimizer.h"
#include "optim/row_policy.h"

namespace ps {

enum class ParameterKind {
  kMatrix,     // used whole by every batch: [rows, cols], dense gradient
  kRows,       // reached by ids: a batch uses some rows, and has gradients for those alone
  kStatistic,  // moved by its layer in training (batch_norm's running means), not by an optimizer
};

struct ParameterSpec {
  std::string name;  // "layer.weight", "layer.bias", …
  ParameterKind kind = ParameterKind::kMatrix;
  bool sparse = false;  // kRows: sparse_update, rows live in a table; else a dense array trained densely
  int64_t rows = 0;     // kRows: ids are below it, 0: any 64-bit id (sparse only)
  int64_t cols = 0;     // D
  Initializer initializer;
  std::string init_file;  // a model file to start from, or empty
  ParameterTuning tuning;
  std::optional<RowPolicy> row_policy;  // sparse: which rows there are; absent: those that were used
};

// Where the weights of one parameter are during one step.  The owner fills in what the kind has.
template <class T>
struct ParameterView {
  T* value = nullptr;          // kMatrix, kStatistic: [rows, cols]
  T* gradient = nullptr;       // kMatrix: [rows, cols], set by backward (zeroed first)
  T* const* rows = nullptr;    // kRows: [N] pointers to the weights of the plan's keys
  T* row_gradients = nullptr;  // kRows: [N, cols], set by backward (zeroed first)
};

}  // namespace ps

#endif  // PS_OPTIM_PARAMETER_H_
