// Tables are made in the order of the parameters, each from its spec.  A checkpoint is saved as one file for
// all dense tables and one for each partition of the sparse ones, by the threads of the device, and restored
// in the same parts.  A snapshot begins for all tables at once, and is then swept table by table.
#include "store/parameter_tables.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "store/array_bound.h"
#include "store/table_checkpoint.h"
#include "table/dense_table.h"
#include "table/row_policy_state.h"
#include "table/sparse_table.h"
#include "table/table_partition.h"

namespace ps {

ParameterTables::ParameterTables(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers,
                                 const TableSettings& settings, Device& device)
    : specs_(std::move(specs)),
      optimizers_(optimizers),
      settings_(settings),
      device_(device),
      tables_(specs_.size()) {
  if (!settings_.spill.directory.empty() && place().sparse >= 0) {
    spill_ = std::make_unique<RowSpill>(settings_.spill.directory, settings_.spill.max_bytes);
  }
  make_again();
}

ParameterTables::~ParameterTables() = default;

void ParameterTables::make_again() {
  for (std::unique_ptr<Table>& table : tables_) table.reset();
  uint64_t array_bytes = settings_.array_bytes;
  for (size_t p = 0; p < size(); ++p) tables_[p] = make(p, array_bytes);
}

// Makes the table of a parameter; returns null if this shard has no rows of it.  An array has elements for
// the keys of all shards.
std::unique_ptr<Table> ParameterTables::make(size_t parameter, uint64_t& array_bytes) {
  const ParameterSpec& spec = specs_[parameter];
  if ((spec.sparse ? place().sparse : place().dense) < 0) return nullptr;
  std::unique_ptr<Optimizer<float>> optimizer;
  if (spec.kind != ParameterKind::kStatistic) optimizer = optimizers_.make(spec.tuning);
  if (!spec.sparse) {
    return std::make_unique<DenseTable>(blocks(parameter), spec.cols, spec.initializer, std::move(optimizer),
                                        device_);
  }
  const uint64_t bound = spill_ ? 0 : array_bound(spec, optimizer->state_arrays(), array_bytes);
  return std::make_unique<SparseTable>(spec.cols, bound, spec.initializer, std::move(optimizer),
                                       spec.row_policy, spill_.get());
}

// Returns this shard's rows of a parameter that is not sparse.
BlockCyclicRows ParameterTables::blocks(size_t parameter) const {
  return dense_blocks(specs_[parameter], static_cast<int64_t>(parameter), place().num_dense, place().dense);
}

// Returns a key that belongs to another shard, if there is one.  Keys of sparse parameters are dealt by
// hash, rows of dense ones in blocks in turn; each kind has its own shards.
std::optional<uint64_t> ParameterTables::foreign_key(size_t parameter, std::span<const uint64_t> keys) const {
  const bool sparse = specs_[parameter].sparse;
  if ((sparse ? place().num_sparse : place().num_dense) == 1) return std::nullopt;
  const BlockCyclicRows own = sparse ? BlockCyclicRows() : blocks(parameter);
  auto is_foreign = [&](uint64_t key) {
    return sparse ? shard_of_key(key, place().num_sparse) != place().sparse
                  : own.owner_of(static_cast<int64_t>(key)) != own.owner;
  };
  const auto found = std::ranges::find_if(keys, is_foreign);
  return found != keys.end() ? std::optional(*found) : std::nullopt;
}

void ParameterTables::end_pass(int64_t pass) {
  for (const std::unique_ptr<Table>& table : tables_) {
    if (table && table->policy()) table->policy()->end_pass(pass, device_);
  }
}

uint64_t ParameterTables::memory_bytes() const {
  uint64_t bytes = 0;
  for (const std::unique_ptr<Table>& table : tables_) bytes += table ? table->memory_bytes() : 0;
  return bytes;
}

// ---- checkpoints

TableLayout ParameterTables::layout(size_t parameter) const {
  return layout_of(specs_[parameter], *tables_[parameter]);
}

std::vector<TableLayout> ParameterTables::layouts() const {
  std::vector<TableLayout> all;
  for (size_t p = 0; p < size(); ++p) {
    if (tables_[p]) all.push_back(layout(p));
  }
  return all;
}

// Every shard has its own counts of row policies, but optimizers count the same steps on all shards, so
// that the first one alone saves them.
std::map<std::string, std::string> ParameterTables::states() const {
  std::map<std::string, std::string> states;
  for (size_t p = 0; p < size(); ++p) {
    if (!tables_[p]) continue;
    add_policy_state(specs_[p].name, *tables_[p], place(), states);
    const bool is_first = (specs_[p].sparse ? place().sparse : place().dense) == 0;
    if (is_first) add_optimizer_state(specs_[p].name, optimizer(p), states);
  }
  return states;
}

bool ParameterTables::any_sparse() const {
  return std::ranges::any_of(specs_, &ParameterSpec::sparse);
}

// Lists the keys of all tables first; the threads then write the files without changing a table.  Number 0
// of the files is the dense one, number 1 + i that of partition i.
std::vector<FileEntry> ParameterTables::save(const CheckpointTarget& target,
                                             const std::map<std::string, std::string>& states) const {
  std::vector<KeyLists> lists;
  for (const std::unique_ptr<Table>& table : tables_) lists.push_back(table->list_keys());
  std::vector<FileEntry> files(1 + (any_sparse() ? kPartitions : 0));
  device_.run(static_cast<int64_t>(files.size()), [&](int64_t i) {
    files[static_cast<size_t>(i)] = i == 0 ? save_dense_tables(target, states)
                                           : save_partitions(target, lists, static_cast<uint32_t>(i) - 1);
  });
  return files;
}

// Writes the file of dense tables, which also has the states.
FileEntry ParameterTables::save_dense_tables(const CheckpointTarget& target,
                                             const std::map<std::string, std::string>& states) const {
  CheckpointFileWriter writer(target, "dense.psc");
  for (size_t p = 0; p < size(); ++p) {
    if (!specs_[p].sparse) save_partition(writer, layout(p), *tables_[p], {}, 0);
  }
  for (size_t p = 0; p < size(); ++p) {
    save_optimizer(writer, specs_[p].name, optimizer(p));
    save_policy(writer, specs_[p].name, *tables_[p]);
  }
  for (const auto& [name, bytes] : states) writer.state(name, bytes);
  return writer.finish();
}

FileEntry ParameterTables::save_partitions(const CheckpointTarget& target, std::span<const KeyLists> lists,
                                           uint32_t partition) const {
  char name[32];
  std::snprintf(name, sizeof name, "part-%03u-of-%03u.psc", partition, kPartitions);
  CheckpointFileWriter writer(target, name);
  for (size_t p = 0; p < size(); ++p) {
    if (specs_[p].sparse) save_partition(writer, layout(p), *tables_[p], lists[p], partition);
  }
  return writer.finish();
}

// First restores the optimizers and the dense tables, then the partitions of the sparse tables, and last the
// policies, which need the restored rows.
void ParameterTables::restore(const CheckpointReader& reader) {
  for (const TableLayout& layout : layouts()) check_layout(reader, layout);
  for (size_t p = 0; p < size(); ++p) {
    restore_optimizer(reader, specs_[p].name, optimizer(p));
    if (tables_[p] && !specs_[p].sparse) restore_dense(reader, layout(p), *tables_[p], device_.cpu());
  }
  if (place().sparse < 0) return;
  restore_partitions(reader);
  for (size_t p = 0; p < size(); ++p) {
    if (tables_[p]) restore_policy(reader, specs_[p].name, place(), *tables_[p]);
  }
}

// Restores the partitions that belong to this shard, several at a time on the threads of the device.
void ParameterTables::restore_partitions(const CheckpointReader& reader) {
  std::mutex mutex;
  device_.run(kPartitions, [&](int64_t index) {
    const uint32_t partition = static_cast<uint32_t>(index);
    if (static_cast<int>(partition) % place().num_sparse != place().sparse) return;
    for (size_t p = 0; p < size(); ++p) {
      if (!specs_[p].sparse || !reader.has(layout(p), partition)) continue;
      restore_partition(reader, layout(p), partition, *tables_[p], device_.cpu(), mutex);
    }
  });
}

// Begins the snapshots of all tables at the same step.  Each sink has a copy of its table's layout, since
// it is called later, while training goes on: with the rows of one partition of a sparse table, or with all
// floats of a dense one.
void ParameterTables::begin_snapshot(uint64_t max_bytes, SnapshotTarget& target) {
  end_snapshot();
  sweeping_ = 0;
  for (size_t p = 0; p < size(); ++p) {
    if (!tables_[p]) continue;
    TableSink sink;
    if (specs_[p].sparse) {
      sink.rows = [&target, layout = layout(p)](uint32_t partition, SnapshotRows&& rows) {
        target.add_rows(layout, partition, std::move(rows));
      };
    } else {
      sink.whole = [&target, layout = layout(p), own = blocks(p)](std::vector<float> floats) {
        target.add_dense(layout, own, std::move(floats));
      };
    }
    tables_[p]->begin_snapshot(max_bytes, std::move(sink));
  }
}

// Sweeps the snapshots of the tables one after the other.
bool ParameterTables::sweep_snapshot(uint64_t rows) {
  for (; sweeping_ < size(); ++sweeping_) {
    if (tables_[sweeping_] && tables_[sweeping_]->sweep_snapshot(rows)) return true;
  }
  return false;
}

void ParameterTables::end_snapshot() {
  for (const std::unique_ptr<Table>& table : tables_) {
    if (table) table->end_snapshot();
  }
}

}  // namespace ps
