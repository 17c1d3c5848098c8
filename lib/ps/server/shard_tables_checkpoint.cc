// Snapshots of a shard's tables, and their way back.
#include <algorithm>
#include <mutex>

#include "ps/server/shard_tables_state.h"
#include "store/table_checkpoint.h"

namespace ps {

void ShardTables::begin_snapshot(uint64_t max_bytes, SnapshotTarget& target) {
  end_snapshot();
  snapshot_target_ = &target;
  sweeping_ = 0;
  dense_floats_.assign(holders_.size(), {});
  for (size_t p = 0; p < holders_.size(); ++p) {
    Holder& holder = holders_[p];
    if (holder.sparse) {
      holder.sparse->begin_snapshot({.max_bytes = max_bytes},
                                    [&target, layout = layout_of(*holder.spec, *holder.sparse)](
                                        uint32_t partition, SnapshotRows&& rows) {
                                      target.take_rows(layout, partition, std::move(rows));
                                    });
    } else if (holder.dense) {
      std::vector<float>& floats = dense_floats_[p];
      floats.reserve(holder.dense->floats());
      holder.dense->begin_snapshot(max_bytes, [&floats](uint64_t, std::span<const float> some) {
        floats.insert(floats.end(), some.begin(), some.end());
      });
    }
  }
}

// Sweeps the tables one after the other.
bool ShardTables::sweep_snapshot(uint64_t rows) {
  while (sweeping_ < holders_.size()) {
    if (sweep(sweeping_, rows)) return true;
    ++sweeping_;
  }
  return false;
}

// False when all of this parameter is given.
bool ShardTables::sweep(size_t parameter, uint64_t rows) {
  constexpr uint64_t kFloatsARow = 256;  // that are copied in the time of a sparse row
  Holder& holder = holders_[parameter];
  if (holder.sparse) return holder.sparse->has_snapshot() && holder.sparse->sweep_snapshot(rows);
  if (!holder.dense || !holder.dense->has_snapshot()) return false;
  if (holder.dense->sweep_snapshot(rows * kFloatsARow)) return true;
  snapshot_target_->take_dense(layout_of(*holder.spec, *holder.dense), holder.deal,
                               std::move(dense_floats_[parameter]));
  return false;
}

void ShardTables::end_snapshot() {
  for (Holder& holder : holders_) {
    if (holder.sparse) holder.sparse->end_snapshot();
    if (holder.dense) holder.dense->end_snapshot();
  }
  dense_floats_.clear();
}

std::vector<TableLayout> ShardTables::layouts() const {
  std::vector<TableLayout> all;
  for (const Holder& holder : holders_) {
    if (holder.sparse) all.push_back(layout_of(*holder.spec, *holder.sparse));
    if (holder.dense) all.push_back(layout_of(*holder.spec, *holder.dense));
  }
  return all;
}

// All shards have taken the same steps, so that one of them speaks for all; policies are each shard's own.
std::map<std::string, std::string> ShardTables::states() const {
  std::map<std::string, std::string> states;
  for (const Holder& holder : holders_) {
    if (holder.sparse) add_policy_state(holder.spec->name, *holder.sparse, place_, states);
    if (holder.sparse && place_.sparse == 0) {
      add_optimizer_state(holder.spec->name, &holder.sparse->optimizer(), states);
    }
    if (holder.dense && place_.dense == 0) {
      add_optimizer_state(holder.spec->name, holder.dense->optimizer(), states);
    }
  }
  return states;
}

void ShardTables::restore(const CheckpointReader& reader) {
  for (const TableLayout& layout : layouts()) check_layout(reader, layout);
  for (Holder& holder : holders_) {
    const std::string& name = holder.spec->name;
    if (holder.sparse) restore_optimizer(reader, name, &holder.sparse->optimizer());
    if (!holder.dense) continue;
    restore_optimizer(reader, name, holder.dense->optimizer());
    restore_dense(reader, layout_of(*holder.spec, *holder.dense), holder.deal, *holder.dense);
  }
  if (place_.sparse < 0) return;
  std::mutex mutex;
  for (uint32_t partition = 0; partition < kPartitions; ++partition) {
    if (static_cast<int>(partition) % place_.num_sparse != place_.sparse) continue;
    for (Holder& holder : holders_) {
      if (!holder.sparse) continue;
      const TableLayout layout = layout_of(*holder.spec, *holder.sparse);
      if (reader.has(layout, partition)) restore_partition(reader, layout, partition, *holder.sparse, mutex);
    }
  }
  for (Holder& holder : holders_) {
    if (holder.sparse) restore_policy(reader, holder.spec->name, place_, *holder.sparse);
  }
}

}  // namespace ps
