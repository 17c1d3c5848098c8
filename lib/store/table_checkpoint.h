// Writes tables and optimizers to checkpoints, and restores them.  Used by ParameterTables, by shards and by
// tools that look into checkpoints.
#ifndef PS_STORE_TABLE_CHECKPOINT_H_
#define PS_STORE_TABLE_CHECKPOINT_H_

#include <map>
#include <mutex>
#include <span>
#include <string>

#include "checkpoint/checkpoint_file_writer.h"
#include "checkpoint/checkpoint_reader.h"
#include "optim/parameter.h"
#include "optim/step_rule.h"
#include "store/placement.h"
#include "table/table.h"

namespace ps {

TableLayout layout_of(const ParameterSpec& spec, const Table& table);

// Writes one partition as it is now.  The table must not change meanwhile, nor since its keys were listed.
void save_partition(CheckpointFileWriter& writer, const TableLayout& layout, const Table& table,
                    const KeyLists& lists, uint32_t partition);

// Save, add and restore the optimizer of one table, as state "optimizer/<table>"; a table without an
// optimizer has no such state.  add_optimizer_state adds it to states that are written later.
void save_optimizer(CheckpointFileWriter& writer, const std::string& table,
                    const Optimizer<float>* optimizer);
void add_optimizer_state(const std::string& table, const Optimizer<float>* optimizer,
                         std::map<std::string, std::string>& states);
void restore_optimizer(const CheckpointReader& reader, const std::string& table, Optimizer<float>* optimizer);

// The row policy state of a table is the state "rows/<table>"; if several shards have the table, that of one
// shard is "rows/<table>/<shard>".  A table without a policy has none.
void save_policy(CheckpointFileWriter& writer, const std::string& name, const Table& table);
void add_policy_state(const std::string& name, const Table& table, const ShardPlace& place,
                      std::map<std::string, std::string>& states);

// To be called after the rows were restored.  The shards may differ from those that saved, also in number.
void restore_policy(const CheckpointReader& reader, const std::string& name, const ShardPlace& place,
                    Table& table);

// Returns the number of shrinks that the rows of a table with a policy had seen.
uint64_t shrinks_of(const CheckpointReader& reader, const std::string& table);

// The schedule is the state "step_rule".
void add_step_rule_state(const StepRule& rule, std::map<std::string, std::string>& states);
void restore_step_rule(const CheckpointReader& reader, StepRule& rule);

// Throws kUsage unless the checkpoint has this table, in the same layout.
void check_layout(const CheckpointReader& reader, const TableLayout& layout);

// Writes the floats [1 + state arrays, rows, cols] of one block-cyclic owner's rows, from a snapshot, as
// partition number `partition` of the table.
void save_dense_floats(CheckpointFileWriter& writer, const TableLayout& layout, const BlockCyclicRows& blocks,
                       std::span<const float> floats, uint32_t partition);

// Puts the rows of one partition into a sparse table that has none of them.  Several threads may do so for
// different partitions of one table, with the same mutex.  `cpu` is the level of kernels.
void restore_partition(const CheckpointReader& reader, const TableLayout& layout, uint32_t partition,
                       Table& table, CpuLevel cpu, std::mutex& mutex);

// Restores the rows of a dense table from all partitions.
void restore_dense(const CheckpointReader& reader, const TableLayout& layout, Table& table, CpuLevel cpu);

}  // namespace ps

#endif  // PS_STORE_TABLE_CHECKPOINT_H_
