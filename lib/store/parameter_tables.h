// ParameterTables: the tables of one process or of one shard, one for each parameter of which it has something.
// Makes them, and takes them to checkpoints and back.  Used by LocalStore and by ShardTables, which train them.
#ifndef PS_STORE_PARAMETER_TABLES_H_
#define PS_STORE_PARAMETER_TABLES_H_

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_file_writer.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/table_layout.h"
#include "math/device.h"
#include "optim/optimizer_plan.h"
#include "optim/parameter.h"
#include "store/placement.h"
#include "table/row_spill.h"
#include "table/table.h"

namespace ps {

// Takes what a snapshot gives out.  It must not throw, since a table may call it in the midst of a step.
class SnapshotTarget {
 public:
  virtual ~SnapshotTarget() = default;

  // Some rows of a sparse table, as a SnapshotSink takes them.
  virtual void take_rows(const TableLayout& layout, uint32_t partition, SnapshotRows&& rows) = 0;

  // All that is here of another table: weights [rows, cols], then the state arrays of the same shape.
  virtual void take_dense(const TableLayout& layout, const BlockCyclicRows& blocks,
                          std::vector<float> floats) = 0;
};

struct TableSettings {
  ShardPlace place = {};  // one shard of all, unless said
  SpillSettings spill =
      {};  // with a directory, rows of sparse tables that were not used for long are on disk
  uint64_t array_bytes = 0;  // at most, of arrays through which rows are reached
};

// One owner thread.  Parameters go by their number in the list of specs.
class ParameterTables {
 public:
  // `device` must outlive the tables.
  ParameterTables(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers,
                  const TableSettings& settings, Device& device);
  ~ParameterTables();
  ParameterTables(const ParameterTables&) = delete;
  ParameterTables& operator=(const ParameterTables&) = delete;

  // Makes all tables anew.  The old ones go first, since there may not be memory for both.
  void make_again();

  size_t size() const { return specs_.size(); }
  const ParameterSpec& spec(size_t parameter) const { return specs_[parameter]; }
  const ShardPlace& place() const { return settings_.place; }

  // Null: nothing of this parameter is here.
  Table* table(size_t parameter) const { return tables_[parameter].get(); }

  // The optimizer that steps move; null also for what is not here.
  Optimizer<float>* optimizer(size_t parameter) const {
    return tables_[parameter] ? tables_[parameter]->optimizer() : nullptr;
  }

  // The first of these keys that is another shard's; none: all are of this one.
  std::optional<uint64_t> foreign_key(size_t parameter, std::span<const uint64_t> keys) const;

  // All trainers have ended this pass.
  void end_pass(int64_t pass);

  uint64_t memory_bytes() const;

  // ---- checkpoints

  TableLayout layout(size_t parameter) const;  // of a table that is here
  std::vector<TableLayout> layouts() const;

  // The states that one of several shards has beside its rows: of the policies of its tables; and, of the first
  // shard that has a table, of its optimizer, since all shards have taken the same steps.
  std::map<std::string, std::string> states() const;

  // Writes all tables of a process that has everything, with `states` beside them: one file for the rows of a
  // partition of all sparse tables, another for all dense tables.
  std::vector<FileEntry> save(const CheckpointTarget& target,
                              const std::map<std::string, std::string>& states) const;

  // Puts the rows of these tables back from a checkpoint, whoever wrote it; nothing may have been trained in
  // them.  Every byte that it takes is checked.  Throws kUsage when the checkpoint is of other parameters,
  // kCorrupt when it is damaged; some tables may be restored then.
  void restore(const CheckpointReader& reader);

  // Begins a snapshot of all tables, which goes to `target` while they go on; about `max_bytes` of a table are
  // kept aside for it.  A snapshot that was running ends.
  void begin_snapshot(uint64_t max_bytes, SnapshotTarget& target);

  // Gives out some more of it, as long as it takes to give `rows`; false when it is done.
  bool sweep_snapshot(uint64_t rows);
  void end_snapshot();

 private:
  std::unique_ptr<Table> make(size_t parameter, uint64_t& array_bytes);
  BlockCyclicRows blocks(size_t parameter) const;
  bool any_sparse() const;
  FileEntry save_dense_tables(const CheckpointTarget& target,
                              const std::map<std::string, std::string>& states) const;
  FileEntry save_partitions(const CheckpointTarget& target, std::span<const KeyLists> lists,
                            uint32_t partition) const;
  void restore_partitions(const CheckpointReader& reader);

  const std::vector<ParameterSpec> specs_;
  const OptimizerPlan optimizers_;
  const TableSettings settings_;
  Device& device_;
  std::unique_ptr<RowSpill> spill_;             // null: rows stay in memory
  std::vector<std::unique_ptr<Table>> tables_;  // by parameter
  size_t sweeping_ = 0;                         // the table that the running snapshot has come to
};

}  // namespace ps

#endif  // PS_STORE_PARAMETER_TABLES_H_
