#include "store/table_checkpoint.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "checkpoint/row_chunks.h"
#include "table/row_policy_state.h"

namespace ps {

namespace {

constexpr const char* kStepRuleState = "step_rule";

std::string optimizer_state(const std::string& table) {
  return "optimizer/" + table;
}

std::string policy_state(const std::string& table) {
  return "rows/" + table;
}

std::string policy_state(const std::string& table, int shard) {
  return cat("rows/", table, "/", shard);
}

std::string layout_text(const TableLayout& layout) {
  return cat(layout.sparse ? "sparse" : "dense", " [", layout.rows, ", ", layout.width, "] with ",
             layout.state_arrays, " state arrays", layout.stamped ? " and stamps" : "",
             layout.statistics.empty() ? "" : ", rows that come and go");
}

// Reads a state; load() must take all of its bytes.
template <class Load>
void restore_state(const CheckpointReader& reader, const std::string& name, Load&& load) {
  const std::string bytes = reader.state(name);
  ByteReader in(bytes);
  load(in);
  if (!in.ok() || in.remaining() > 0) {
    fail(Code::kCorrupt, reader.folder(), ": offset 0: state ", quote(name), " is not as this job writes it");
  }
}

}  // namespace

TableLayout layout_of(const ParameterSpec& spec, const Table& table) {
  const RowFormat format = table.format();
  return {.name = spec.name,
          .sparse = format.sparse,
          .rows = static_cast<uint64_t>(spec.rows),
          .width = spec.cols,
          .state_arrays = format.state_arrays,
          .stamped = format.stamped,
          .statistics = format.statistics};
}

void save_partition(CheckpointFileWriter& writer, const TableLayout& layout, const Table& table,
                    const KeyLists& lists, uint32_t partition) {
  writer.begin(layout, partition);
  table.save_rows(partition, lists, rows_of_a_block(layout),
                  [&](const RowBlock& rows) { writer.rows(rows); });
}

// Writes a snapshot of a dense table as rows.
//   floats [arrays, num_rows, cols]: the weights, then each state array  ->  rows [arrays * cols] by key
// A row of a checkpoint has its weights and its state side by side, so the loop gathers them from all
// arrays.  `step` rows make a block.
void save_dense_floats(CheckpointFileWriter& writer, const TableLayout& layout, const BlockCyclicRows& blocks,
                       std::span<const float> floats, uint32_t partition) {
  writer.begin(layout, partition);
  const size_t cols = static_cast<size_t>(layout.width),
               arrays = static_cast<size_t>(layout.state_arrays) + 1;
  const size_t num_rows = floats.size() / (cols * arrays), step = rows_of_a_block(layout);
  RowBlock block;
  for (size_t first = 0; first < num_rows; first += step) {
    block.clear();
    for (size_t r = first; r < std::min(first + step, num_rows); ++r) {
      block.keys.push_back(static_cast<uint64_t>(blocks.global(static_cast<int64_t>(r))));
      for (size_t a = 0; a < arrays; ++a) {
        const std::span<const float> row = floats.subspan((a * num_rows + r) * cols, cols);
        block.values.insert(block.values.end(), row.begin(), row.end());
      }
    }
    writer.rows(block);
  }
}

void save_optimizer(CheckpointFileWriter& writer, const std::string& table,
                    const Optimizer<float>* optimizer) {
  std::map<std::string, std::string> states;
  add_optimizer_state(table, optimizer, states);
  for (const auto& [name, bytes] : states) writer.state(name, bytes);
}

void add_optimizer_state(const std::string& table, const Optimizer<float>* optimizer,
                         std::map<std::string, std::string>& states) {
  if (optimizer != nullptr) optimizer->save(states[optimizer_state(table)]);
}

void restore_optimizer(const CheckpointReader& reader, const std::string& table,
                       Optimizer<float>* optimizer) {
  if (optimizer == nullptr) return;
  restore_state(reader, optimizer_state(table), [&](ByteReader& in) { optimizer->load(in); });
}

void save_policy(CheckpointFileWriter& writer, const std::string& name, const Table& table) {
  if (table.policy() == nullptr) return;
  std::string bytes;
  table.policy()->save(bytes);
  writer.state(policy_state(name), bytes);
}

void add_policy_state(const std::string& name, const Table& table, const ShardPlace& place,
                      std::map<std::string, std::string>& states) {
  if (table.policy() != nullptr) table.policy()->save(states[policy_state(name, place.sparse)]);
}

// The counts of each partition are in the state of the shard that had it, or in the single state of a process
// that had all partitions.  A report is not divided by partitions: each report goes to one of the present
// shards, so that their sum stays the same.
void restore_policy(const CheckpointReader& reader, const std::string& name, const ShardPlace& place,
                    Table& table) {
  RowPolicyState* policy = table.policy();
  if (policy == nullptr) return;
  RowReport sum;
  auto restore = [&](const std::string& state, int writer) {
    restore_state(reader, state, [&](ByteReader& in) {
      const RowReport report = policy->load(in, [&](uint32_t partition) {
        return static_cast<int>(partition) % place.num_sparse == place.sparse;
      });
      if (writer % place.num_sparse == place.sparse) sum.add(report);
    });
  };
  const bool by_shards = !reader.has_state(policy_state(name)) && reader.has_state(policy_state(name, 0));
  if (!by_shards) restore(policy_state(name), 0);
  for (int shard = 0; by_shards && reader.has_state(policy_state(name, shard)); ++shard) {
    restore(policy_state(name, shard), shard);
  }
  policy->set_report(sum);
}

// All shards shrink at the same steps, so the state of the first one tells for all.
uint64_t shrinks_of(const CheckpointReader& reader, const std::string& table) {
  const std::string whole = policy_state(table);
  const std::string bytes = reader.state(reader.has_state(whole) ? whole : policy_state(table, 0));
  ByteReader in(bytes);
  const uint64_t shrinks = saved_shrinks(in);
  if (!in.ok())
    fail(Code::kCorrupt, reader.folder(), ": offset 0: state of the rows of ", quote(table), " is cut short");
  return shrinks;
}

void add_step_rule_state(const StepRule& rule, std::map<std::string, std::string>& states) {
  rule.save(states[kStepRuleState]);
}

void restore_step_rule(const CheckpointReader& reader, StepRule& rule) {
  restore_state(reader, kStepRuleState, [&](ByteReader& in) { rule.load(in); });
}

void check_layout(const CheckpointReader& reader, const TableLayout& layout) {
  const TableLayout* found = reader.table(layout.name);
  if (found == nullptr) fail(Code::kUsage, quote(reader.folder()), ": no parameter ", quote(layout.name));
  if (*found == layout) return;
  fail(Code::kUsage, quote(reader.folder()), ": ", quote(layout.name), " is ", layout_text(*found),
       ", the job expects ", layout_text(layout));
}

// Several threads restore partitions of one table.  A table that can restores partitions independently;
// into another one the threads put their blocks in turn, under `mutex`, while they read and decompress the
// next block without it.
void restore_partition(const CheckpointReader& reader, const TableLayout& layout, uint32_t partition,
                       Table& table, CpuLevel cpu, std::mutex& mutex) {
  Device alone(1, cpu);
  const uint64_t expected = reader.max_rows(layout.name, partition);
  auto cursor = reader.rows(layout.name, partition);
  while (const RowBlock* rows = cursor->next()) {
    if (table.restores_partitions()) {
      table.restore_partition(partition, *rows, expected);
      continue;
    }
    std::lock_guard lock(mutex);
    table.restore_rows(*rows, alone);
  }
}

// Takes of each partition the rows that this shard owns, however many shards had written it.  Fewer rows
// than the table has mean that the checkpoint is damaged.
void restore_dense(const CheckpointReader& reader, const TableLayout& layout, Table& table, CpuLevel cpu) {
  Device alone(1, cpu);
  uint64_t restored = 0;
  for (uint32_t partition : reader.partitions(layout.name)) {
    auto cursor = reader.rows(layout.name, partition);
    while (const RowBlock* rows = cursor->next()) restored += table.restore_rows(*rows, alone);
  }
  if (restored == table.size()) return;
  fail(Code::kCorrupt, reader.folder(), ": offset 0: ", quote(layout.name), " has ", restored, " rows of ",
       table.size());
}

}  // namespace ps
