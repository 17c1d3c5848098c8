// ParameterSpec: the description that a network gives of each parameter: name, shape, initial weights,
// tuning.  Used by the stores, which hold the weights; the network itself owns none.
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
  kMatrix,     // every batch uses the whole matrix: [rows, cols], dense gradient
  kRows,       // rows by id: a batch uses some rows, and has gradients for those alone
  kStatistic,  // its layer updates it in training (batch_norm's running means), not an optimizer
};

struct ParameterSpec {
  std::string name;  // "layer.weight", "layer.bias", …
  ParameterKind kind = ParameterKind::kMatrix;
  bool sparse = false;  // kRows: sparse_update, a sparse table; else a dense table
  int64_t rows = 0;     // kRows: ids are below it, 0: any 64-bit id (sparse only)
  int64_t cols = 0;     // D
  Initializer initializer;
  std::string init_file;  // a model file with initial weights, or empty
  ParameterTuning tuning;
  std::optional<RowPolicy> row_policy;  // sparse: the policy that creates and removes rows; absent: none
  bool split = false;  // kMatrix: each trainer moves its part of the columns, even_part of collective/parts.h
  // Dense, on servers: trainers move it, and servers have the values that these set last.
  bool by_trainers = false;
  // Only for kRows of a dense table: in heterogeneous training, the compute trainers pull and push it.
  bool with_compute = false;
};

// In heterogeneous training readers pull and push these parameters, and compute trainers all others.
inline bool with_readers(const ParameterSpec& spec) {
  return spec.kind == ParameterKind::kRows && !spec.with_compute;
}

// Pointers to the weights of one parameter during one step.  The owner sets the pointers of the parameter's
// kind.
template <class T>
struct ParameterView {
  T* value = nullptr;          // kMatrix, kStatistic: [rows, cols]
  T* gradient = nullptr;       // kMatrix: [rows, cols], set by backward (zeroed first)
  T* const* rows = nullptr;    // kRows: [N] pointers to the weights of the plan's keys
  T* row_gradients = nullptr;  // kRows: [N, cols], set by backward (zeroed first)
  bool there = false;          // the pointers are to memory of the device that computes, not of the host
};

}  // namespace ps

#endif  // PS_OPTIM_PARAMETER_H_
