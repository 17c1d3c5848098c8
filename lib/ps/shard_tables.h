// ShardTables: the parameters of one shard: its partitions of the sparse tables, its blocks of the dense
// ones.  Used by Shard.
#ifndef PS_PS_SHARD_TABLES_H_
#define PS_PS_SHARD_TABLES_H_

#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "ps/optimizer_plan.h"
#include "ps/placement.h"
#include "ps/protocol.h"
#include "ps/shard_status.h"
#include "table/dense_table.h"
#include "table/sparse_table.h"

namespace ps {

// What one trainer gave of one parameter, in one piece of its push.
struct Contribution {
  const Part* part;
  const float* floats;  // [part->rows(), cols]
  int trainer;
  float share;  // of the step's examples
};

// One owner thread.
class ShardTables {
 public:
  // With `spill`, rows of sparse tables that were not used for long are on disk.  `array_bytes`: of arrays
  // through which rows are reached, at most.
  ShardTables(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const ShardPlace& place,
              const SpillSettings& spill = {}, uint64_t array_bytes = 0);
  ~ShardTables();

  size_t size() const { return specs_.size(); }
  Widths widths() const { return widths_; }

  // Throws kData unless the parts name rows that this shard has.
  void check(std::span<const Part> parts) const;

  // The same of gradients, which come by keys where rows are reached by keys.
  void check_gradients(std::span<const Part> parts) const;

  // Of the parts of a checked request: the bytes that their rows take, each part padded; and the rows.
  uint64_t bytes_of(std::span<const Part> parts, RowType type) const;
  void read(std::span<const Part> parts, PullMode mode, RowType type, char* out);

  // The same for a pull that a push will follow: puts into the parts where their rows are, which then need
  // not be looked up again.
  void pull(std::span<Part> parts, RowType type, char* out);

  // One step of parameter number `parameter` with the sum of the contributions, which come in the order of
  // ranks and pieces; of a statistic, with their mean.  A lone contribution is used where it lies.
  void apply(size_t parameter, std::span<const Contribution> contributions, const StepSize& step);

  // All trainers have ended this pass.
  void end_pass(int64_t pass);

  // The squares of the gradient that apply would use.
  ExactSquares squares(size_t parameter, std::span<const Contribution> contributions);

  // Sets weights, as if training began with them.
  void load(const Part& part, const float* floats);

  // Keys of a sparse parameter's rows, ascending.  Throws kData when it is none.
  std::vector<uint64_t> sorted_keys(size_t parameter) const;

  uint64_t memory_bytes() const;

  // What rows for all keys of the parts would take, if none had one yet; and those that have none.
  uint64_t row_bytes(std::span<const Part> parts) const;
  uint64_t missing_row_bytes(std::span<const Part> parts) const;

  // Of the rows here.  Throws kData when the parameter has no policy.
  RowReport row_report(size_t parameter) const;

  // Of all parameters that this shard has something of.
  std::vector<TableStatus> status() const;

 private:
  struct Holder;

  void check(const Part& part) const;
  uint64_t bytes_of(const Part& part, RowType type) const;
  using Places = std::vector<float*>;

  char* read_part(const Part& part, PullMode mode, RowType type, char* out, Places* places = nullptr);
  void read_floats(const Part& part, PullMode mode, float* out, Places* places);
  void read_keys(Holder& holder, const Part& part, PullMode mode, float* out, Places* places);
  void pull_keys(Holder& holder, std::span<const uint64_t> keys, float* out, Places* places);
  std::unique_ptr<SparseTable> make_sparse(const ParameterSpec& spec,
                                           std::unique_ptr<Optimizer<float>> optimizer,
                                           uint64_t& array_bytes) const;
  void find_rows(Holder& holder, std::span<const Contribution> contributions);
  void read_range(const Holder& holder, const Part& part, PullMode mode, float* out) const;
  void gather_rows(Holder& holder, std::span<const Contribution> contributions);
  const float* matrix_gradient(Holder& holder, std::span<const Contribution> contributions);
  void apply_rows(Holder& holder, std::span<const Contribution> contributions, const StepSize& step);
  void apply_matrix(Holder& holder, std::span<const Contribution> contributions, const StepSize& step);
  void apply_statistic(Holder& holder, std::span<const Contribution> contributions);
  const float* sum_rows(Holder& holder, std::span<const Contribution> contributions);
  void sum_counts(std::span<const Contribution> contributions);
  const float* sum_ranges(Holder& holder, std::span<const Contribution> contributions);

  const std::vector<ParameterSpec> specs_;
  const ShardPlace place_;
  ThreadPool pool_{1};
  std::vector<int64_t> widths_;
  std::unique_ptr<RowSpill> spill_;  // or null
  std::vector<Holder> holders_;

  // Of the running request.  rows_ are those of plan_.
  KeyPlanner planner_;
  KeyPlan plan_;
  std::vector<float*> rows_;
  std::vector<SparseTable::GradientPiece> pieces_;  // of the keys of plan_
  std::vector<float> sums_, floats_;
};

}  // namespace ps

#endif  // PS_PS_SHARD_TABLES_H_
