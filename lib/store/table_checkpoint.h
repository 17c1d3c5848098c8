// Tables and optimizers to and from checkpoints.  Used by whoever holds them: the local store and shards.
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
#include "table/dense_table.h"
#include "table/sparse_table.h"

namespace ps {

TableLayout layout_of(const ParameterSpec& spec, const SparseTable& table);
TableLayout layout_of(const ParameterSpec& spec, const DenseTable& table);

// Writes one partition as it is now: nothing may change the table meanwhile, nor since its keys were listed.
void save_partition(CheckpointFileWriter& writer, const TableLayout& layout, const SparseTable& table,
                    const KeyLists& lists, uint32_t partition);

// Writes the rows that one holder has, as piece number `piece` of the table.
void save_dense(CheckpointFileWriter& writer, const TableLayout& layout, const DenseTable& table,
                const BlockCyclicRows& deal, uint32_t piece);

// The optimizer of one table, as state "optimizer/<table>"; null is well.
void save_optimizer(CheckpointFileWriter& writer, const std::string& table,
                    const Optimizer<float>* optimizer);
void add_optimizer_state(const std::string& table, const Optimizer<float>* optimizer,
                         std::map<std::string, std::string>& states);  // among others, to be written
void restore_optimizer(const CheckpointReader& reader, const std::string& table, Optimizer<float>* optimizer);

// What a table with a policy keeps beside its rows, as state "rows/<table>"; nothing for others.  To be
// restored after the rows.
void save_policy(CheckpointFileWriter& writer, const std::string& name, const SparseTable& table);
void restore_policy(const CheckpointReader& reader, const std::string& name, SparseTable& table);

// The same of one of the shards that have the table, as state "rows/<table>/<shard>": `place` says which.
// They may be others, more or fewer, than those that were saved.
void add_policy_state(const std::string& name, const SparseTable& table, const ShardPlace& place,
                      std::map<std::string, std::string>& states);
void restore_policy(const CheckpointReader& reader, const std::string& name, const ShardPlace& place,
                    SparseTable& table);

// Shrinks that the rows of a table with a policy had seen.
uint64_t shrinks_of(const CheckpointReader& reader, const std::string& table);

// As state "step_rule".
void save_step_rule(CheckpointFileWriter& writer, const StepRule& rule);
void add_step_rule_state(const StepRule& rule, std::map<std::string, std::string>& states);
void restore_step_rule(const CheckpointReader& reader, StepRule& rule);

// Throws kUsage unless the checkpoint has this table, in the same layout.
void check_layout(const CheckpointReader& reader, const TableLayout& layout);

// Writes what a snapshot gave of the rows that one holder has: floats [1 + state arrays, rows, cols].
void save_dense_floats(CheckpointFileWriter& writer, const TableLayout& layout, const BlockCyclicRows& deal,
                       std::span<const float> floats, uint32_t piece);

// Puts the rows of one partition into a table that has none of them.  Threads may do so for several
// partitions of one table, under one mutex.
void restore_partition(const CheckpointReader& reader, const TableLayout& layout, uint32_t partition,
                       SparseTable& table, std::mutex& mutex);

// Puts the rows of the holder back, whoever wrote them.
void restore_dense(const CheckpointReader& reader, const TableLayout& layout, const BlockCyclicRows& deal,
                   DenseTable& table);

}  // namespace ps

#endif  // PS_STORE_TABLE_CHECKPOINT_H_
