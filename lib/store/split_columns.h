// SplitColumns: the parameters whose columns are divided over the trainers (an fc layer with "parallel":
// "model").  A trainer has the whole gradient of its own columns and none of the others, and moves only its
// own.  Used by AllReduceStore.
#ifndef PS_STORE_SPLIT_COLUMNS_H_
#define PS_STORE_SPLIT_COLUMNS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "optim/parameter.h"
#include "store/local_store.h"

namespace ps {

// One owner thread, that of the communicator.
class SplitColumns {
 public:
  // All arguments outlive this.  If a gradient is clipped by norm, each push of `local` asks all trainers for
  // the squares of their columns.
  SplitColumns(std::span<const ParameterSpec> specs, LocalStore& local, Communicator& communicator);

  // any returns true if a parameter is split.  A single trainer has all columns, so that none is.
  bool any() const { return !parameters_.empty(); }
  bool has(size_t parameter) const { return communicator_.size() > 1 && specs_[parameter].split; }

  // Gives all trainers the columns of all, with the optimizer's state.  Throws what the communicator throws,
  // and kData if another trainer has other columns than this one expects.
  void gather();

 private:
  void add_squares(std::span<double> squares);
  void gather(size_t parameter);

  const std::span<const ParameterSpec> specs_;
  LocalStore& local_;
  Communicator& communicator_;
  std::vector<size_t> parameters_;  // those that are split
};

}  // namespace ps

#endif  // PS_STORE_SPLIT_COLUMNS_H_
