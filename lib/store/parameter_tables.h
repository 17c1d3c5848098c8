// ParameterTables: the tables of one process or of one shard, one for each parameter of which it has rows.
// Makes them, and writes them to checkpoints and restores them.  Used by LocalStore and by ShardTables, which
// train them.
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

// Receives a snapshot.  It must not throw, since a table may call it in the middle of a step.
class SnapshotTarget {
 public:
  virtual ~SnapshotTarget() = default;

  // Takes some rows of a sparse table, like a SnapshotSink.
  virtual void add_rows(const TableLayout& layout, uint32_t partition, SnapshotRows&& rows) = 0;

  // Takes all floats of a dense table on this shard: weights [rows, cols], then the state arrays of the same
  // shape.
  virtual void add_dense(const TableLayout& layout, const BlockCyclicRows& blocks,
                         std::vector<float> floats) = 0;
};

struct TableSettings {
  ShardPlace place = {};     // default: one shard has everything
  SpillSettings spill = {};  // with a directory: rows that were not used for long lie on disk
  uint64_t array_bytes = 0;  // limit for arrays through which rows are found
};

// One owner thread.  A parameter is named by its index in the list of specs.
class ParameterTables {
 public:
  // `device` must outlive the tables.
  ParameterTables(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers,
                  const TableSettings& settings, Device& device);
  ~ParameterTables();
  ParameterTables(const ParameterTables&) = delete;
  ParameterTables& operator=(const ParameterTables&) = delete;

  // Makes all tables anew.  The old ones are freed first, since memory may not suffice for both.
  void make_again();

  size_t size() const { return specs_.size(); }
  std::span<const ParameterSpec> specs() const { return specs_; }
  const ParameterSpec& spec(size_t parameter) const { return specs_[parameter]; }
  const ShardPlace& place() const { return settings_.place; }

  // Returns null if this shard has no rows of the parameter.
  Table* table(size_t parameter) const { return tables_[parameter].get(); }

  // Returns the optimizer of a parameter; null if it has none, or no rows here.
  Optimizer<float>* optimizer(size_t parameter) const {
    return tables_[parameter] ? tables_[parameter]->optimizer() : nullptr;
  }

  // Returns the first of these keys that belongs to another shard; nothing if all belong to this one.
  std::optional<uint64_t> foreign_key(size_t parameter, std::span<const uint64_t> keys) const;

  // To be called when all trainers have ended this pass.
  void end_pass(int64_t pass);

  uint64_t memory_bytes() const;

  // ---- checkpoints

  TableLayout layout(size_t parameter) const;  // the parameter must have a table here
  std::vector<TableLayout> layouts() const;

  // Returns the states of a shard beside its rows: the states of its tables' policies, and of the optimizers of
  // tables of which this is the first shard, since optimizers have the same state on all shards.
  std::map<std::string, std::string> states() const;

  // Writes all tables of a process without servers, and `states`: one file for each partition, with the rows
  // of all sparse tables, and one file for all dense tables.
  std::vector<FileEntry> save(const CheckpointTarget& target,
                              const std::map<std::string, std::string>& states) const;

  // Restores the rows of these tables from a checkpoint of any number of shards.  The tables must be
  // untrained.  Checks all bytes that it uses.  Throws kUsage if the checkpoint has other parameters,
  // kCorrupt if it is damaged; some tables may then be restored already.
  void restore(const CheckpointReader& reader);

  // Begins a snapshot of all tables, which goes to `target` while training goes on.  Each table copies at most
  // about `max_bytes` of rows for it.  Ends a running snapshot.
  void begin_snapshot(uint64_t max_bytes, SnapshotTarget& target);

  // Works on the snapshot for as long as it takes to copy `rows` rows.  Returns false if it is complete.
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
  size_t sweeping_ = 0;                         // index of the table that the running snapshot sweeps
};

}  // namespace ps

#endif  // PS_STORE_PARAMETER_TABLES_H_
