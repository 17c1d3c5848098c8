// ShardTables: the parameters of one shard: its partitions of the sparse tables, its blocks of the dense
// ones.  Used by Shard.
#ifndef PS_PS_SERVER_SHARD_TABLES_H_
#define PS_PS_SERVER_SHARD_TABLES_H_

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/table_layout.h"
#include "optim/optimizer_plan.h"
#include "ps/status/shard_status.h"
#include "ps/wire/protocol.h"
#include "store/placement.h"
#include "table/dense_table.h"
#include "table/sparse_table.h"

namespace ps {

// What one trainer gave of one parameter, in one piece of its push.
struct Contribution {
  const RowSlice* part;
  const float* floats;  // [part->rows(), cols]
  int trainer;
  float share;  // of the step's examples
};

// Takes what a snapshot gives out; must not throw: it may be called in the midst of a step.
class SnapshotTarget {
 public:
  virtual ~SnapshotTarget() = default;

  // Some rows of a sparse table, as a SnapshotSink takes them.
  virtual void take_rows(const TableLayout& layout, uint32_t partition, SnapshotRows&& rows) = 0;

  // All that the shard has of another one: weights [rows, cols], then the state arrays of the same shape.
  virtual void take_dense(const TableLayout& layout, const BlockCyclicRows& deal,
                          std::vector<float> floats) = 0;
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
  void check(std::span<const RowSlice> parts) const;

  // The same of gradients, which come by keys where rows are reached by keys.
  void check_gradients(std::span<const RowSlice> parts) const;

  // Of the parts of a checked request: the bytes that their rows take, each part padded; and the rows.
  uint64_t bytes_of(std::span<const RowSlice> parts, RowType type) const;
  void read(std::span<const RowSlice> parts, PullMode mode, RowType type, char* out);

  // The same for a pull that a push will follow: puts into the parts where their rows are, which then need
  // not be looked up again.
  void pull(std::span<RowSlice> parts, RowType type, char* out);

  // One step of parameter number `parameter` with the sum of the contributions, which come in the order of
  // ranks and pieces; of a statistic, with their mean.  A lone contribution is used where it lies.
  void apply(size_t parameter, std::span<const Contribution> contributions, const StepSize& step);

  // All trainers have ended this pass.
  void end_pass(int64_t pass);

  // The squares of the gradient that apply would use.
  ExactSquares squares(size_t parameter, std::span<const Contribution> contributions);

  // Sets weights, as if training began with them.
  void load(const RowSlice& part, const float* floats);

  // Appends keys of a sparse parameter's rows, about `most` of them, as RowStore::scan_all gives them; false
  // when there are no more.  Throws kData when it is none.
  bool scan_keys(size_t parameter, uint64_t most, ScanCursor& cursor, std::vector<uint64_t>& keys) const;

  uint64_t memory_bytes() const;

  // Calls of read and pull so far: whether anybody wants anything.
  uint64_t num_requests() const { return num_requests_; }

  // What rows for all keys of the parts would take, if none had one yet; and those that have none.
  uint64_t row_bytes(std::span<const RowSlice> parts) const;
  uint64_t missing_row_bytes(std::span<const RowSlice> parts) const;

  // Of the rows here.  Throws kData when the parameter has no policy.
  RowReport row_report(size_t parameter) const;

  // Of all parameters that this shard has something of.
  std::vector<TableStatus> status() const;

  // Begins a snapshot of all that is here, which `target` is given while the tables go on; up to about
  // `max_bytes` are kept aside for it.  One that was running ends.
  void begin_snapshot(uint64_t max_bytes, SnapshotTarget& target);

  // Gives out some more of it, as long as it takes to give `rows`; false when it is done.
  bool sweep_snapshot(uint64_t rows);
  void end_snapshot();

  // What a checkpoint says of the tables, and what this shard has to say beside their rows: the state of
  // their optimizers, each by one of the shards that have them, and of their policies.
  std::vector<TableLayout> layouts() const;
  std::map<std::string, std::string> states() const;
  const ShardPlace& place() const { return place_; }

  // Puts back what this shard has of a checkpoint, whoever wrote it, into tables in which nothing has been
  // trained.  Throws kUsage when it is of other parameters, kCorrupt when it is damaged.
  void restore(const CheckpointReader& reader);

 private:
  struct Holder;

  void check(const RowSlice& part) const;
  uint64_t bytes_of(const RowSlice& part, RowType type) const;
  using Places = std::vector<float*>;

  char* read_part(const RowSlice& part, PullMode mode, RowType type, char* out, Places* places = nullptr);
  void read_floats(const RowSlice& part, PullMode mode, float* out, Places* places);
  void read_keys(Holder& holder, const RowSlice& part, PullMode mode, float* out, Places* places);
  void pull_keys(Holder& holder, std::span<const uint64_t> keys, float* out, Places* places);
  std::unique_ptr<SparseTable> make_sparse(const ParameterSpec& spec,
                                           std::unique_ptr<Optimizer<float>> optimizer,
                                           uint64_t& array_bytes) const;
  void find_rows(Holder& holder, std::span<const Contribution> contributions);
  void read_range(const Holder& holder, const RowSlice& part, PullMode mode, float* out) const;
  void gather_rows(Holder& holder, std::span<const Contribution> contributions);
  const float* matrix_gradient(Holder& holder, std::span<const Contribution> contributions);
  void apply_rows(Holder& holder, std::span<const Contribution> contributions, const StepSize& step);
  void apply_sparse(Holder& holder, std::span<const Contribution> contributions, const StepSize& step);
  bool lie_apart(const Holder& holder, std::span<const Contribution> contributions) const;
  void use_rows_in_place(Holder& holder, std::span<const Contribution> contributions);
  void apply_matrix(Holder& holder, std::span<const Contribution> contributions, const StepSize& step);
  void apply_statistic(Holder& holder, std::span<const Contribution> contributions);
  const float* sum_rows(Holder& holder, std::span<const Contribution> contributions);
  void sum_counts(std::span<const Contribution> contributions);
  bool sweep(size_t parameter, uint64_t rows);
  const float* sum_ranges(Holder& holder, std::span<const Contribution> contributions);

  const std::vector<ParameterSpec> specs_;
  const ShardPlace place_;
  ThreadPool pool_{1};
  std::vector<int64_t> widths_;
  std::unique_ptr<RowSpill> spill_;  // or null
  std::vector<Holder> holders_;

  // Of the running snapshot: the holder that is swept, and what its dense table gave.
  SnapshotTarget* snapshot_target_ = nullptr;
  size_t sweeping_ = 0;
  std::vector<std::vector<float>> dense_floats_;  // by parameter

  // Of the running request.
  KeyPlanner planner_;
  KeyPlan plan_;
  std::vector<float*> rows_;
  std::vector<SparseTable::GradientPiece> pieces_;
  std::vector<float> sums_, floats_;

  uint64_t num_requests_ = 0;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_TABLES_H_
