// Table: the rows of one parameter that one process or one shard has, with their optimizer.  SparseTable holds
// the rows that were used so far, DenseTable all rows.  Used by ParameterTables, LocalStore and ShardTables,
// which need not know which of the two they have.
#ifndef PS_TABLE_TABLE_H_
#define PS_TABLE_TABLE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "math/key_plan.h"
#include "optim/optimizer.h"
#include "table/key_lists.h"
#include "table/row_block.h"
#include "table/snapshot_rows.h"

namespace ps {

class RowPolicyState;
class WholeTable;

// The kind of rows that a table has, for checkpoints.
struct RowFormat {
  bool sparse = false;
  int state_arrays = 0;                      // of the optimizer, each as wide as the weights
  bool stamped = false;                      // a row knows which steps it has seen
  std::vector<std::string> statistics = {};  // names of what else a row holds
};

// Gradients of some rows, each of which occurs once in all pieces of a step.
struct GradientPiece {
  std::span<const uint64_t> keys;
  std::span<float* const> rows;  // as pull gave them
  const float* gradients;        // [keys, width]
};

// Where a snapshot goes: the rows of a sparse table by partition; all floats of a dense one at once, at the
// end: weights [rows, width], then state arrays of the same shape.  Neither may throw.
struct TableSink {
  SnapshotSink rows = {};
  std::function<void(std::vector<float> floats)> whole = {};
};

// Owner thread only, but where a method says otherwise; a table shares its work over the pool.
class Table {
 public:
  virtual ~Table() = default;

  virtual RowFormat format() const = 0;
  virtual int64_t width() const = 0;
  virtual uint64_t size() const = 0;  // rows that it has at present
  virtual uint64_t memory_bytes() const = 0;

  // Null: the values are a statistic, which only its layer moves.
  virtual Optimizer<float>* optimizer() const = 0;

  // Null: rows neither wait for admission nor go again.
  virtual RowPolicyState* policy() const { return nullptr; }

  // Null: rows are reached by their keys alone.
  virtual WholeTable* whole() { return nullptr; }

  // ---- training, by key

  // rows[n] <- the weights of keys[n], up to date with all steps begun, to be used where they lie and updated
  // by push.  Creates rows, but for a table with a policy: its push creates them, and what a key without a row
  // reads as is good until the next pull.
  virtual void pull(std::span<const uint64_t> keys, ThreadPool& pool, std::span<float*> rows) = 0;
  void pull(const KeyPlan& plan, ThreadPool& pool, std::vector<float*>& rows) {
    rows.resize(plan.keys.size());
    pull(plan.keys, pool, rows);
  }

  // True when pull's pointers stay good until the row is erased: neither a policy nor a spill moves rows.
  virtual bool rows_stay() const = 0;

  // The same as pull for rows that it gave before, and that have stayed.
  virtual void bring_up_to_date(std::span<const uint64_t> keys, std::span<float* const> rows,
                                ThreadPool& pool) = 0;

  // Begins the next step, then applies gradients [N, width] to the rows that pull gave for the same plan.  A
  // table with a policy also counts plan.counts, makes rows, and drops gradients of keys without one.
  virtual void push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
                    double learning_rate, ThreadPool& pool) = 0;

  // The same for a step whose gradients lie in several pieces.  A table with a policy takes no pieces.
  virtual void push(std::span<const GradientPiece> pieces, float scale, double learning_rate,
                    ThreadPool& pool) = 0;

  // ---- reading and models, by key

  // weights [keys, width] <- the weights to test and save with.  Changes nothing.  Any thread, while nothing
  // changes the table; with a spill, the owner's.
  virtual void read_rows(std::span<const uint64_t> keys, float* weights) const = 0;

  // The same for many keys, shared over the pool.
  virtual void read_rows(std::span<const uint64_t> keys, float* weights, ThreadPool& pool) const = 0;

  // Sets weights [keys, width], as if training began with them.
  virtual void load_rows(std::span<const uint64_t> keys, const float* weights, ThreadPool& pool) = 0;

  // Appends the keys of some more rows, as RowStorage::scan_all gives them; false when there are no more.
  virtual bool scan_keys(ScanCursor& cursor, std::vector<uint64_t>& keys) const = 0;
  virtual std::vector<uint64_t> sorted_keys() const = 0;

  // Bytes that one more row takes, with its part of the index; 0 when all rows are there already.
  virtual uint64_t new_row_bytes() const = 0;

  // Counts the keys that have no row.  Any thread, while nothing changes the table.
  virtual size_t num_missing(std::span<const uint64_t> keys) const = 0;

  // ---- checkpoints

  // Partitions by which rows are saved.
  virtual uint32_t num_partitions() const = 0;

  // The keys of those partitions that save_rows cannot find by itself.
  virtual KeyLists list_keys() const = 0;

  // Calls take(rows) with the rows of one partition as they lie, in the order of their keys, up to `at_once` in
  // a block.  Any thread, while nothing changes the table since `lists` were made of it; with a spill, the
  // owner's.
  virtual void save_rows(uint32_t partition, const KeyLists& lists, size_t at_once,
                         const std::function<void(const RowBlock&)>& take) const = 0;

  // rows <- those of some keys, which must be there, as they lie.
  virtual void copy_rows(std::span<const uint64_t> keys, RowBlock& rows) const = 0;

  // Sets rows, as save_rows, copy_rows or a snapshot gave them, but for those that belong to other holders of
  // the parameter.  Returns how many it has set.
  virtual uint64_t restore_rows(const RowBlock& rows, ThreadPool& pool) = 0;

  // The same for rows of one partition, none of which is there yet and of which `expected` will come: any
  // threads, each with partitions of its own.  Only where restores_partitions().
  virtual bool restores_partitions() const { return false; }
  virtual void restore_partition(uint32_t /*partition*/, const RowBlock& /*rows*/, uint64_t /*expected*/) {}

  // Begins a snapshot of all rows as they are now, which goes to `sink` while the table goes on.  Its writers
  // keep up to about max_bytes of what they overwrite, and may call the sink.  None may be running.
  virtual void begin_snapshot(uint64_t max_bytes, TableSink sink) = 0;

  // Gives out some more of the snapshot, as long as it takes to give `rows`.  False when all is given: then it
  // has ended.
  virtual bool sweep_snapshot(uint64_t rows) = 0;
  virtual void end_snapshot() = 0;
  virtual bool has_snapshot() const = 0;
};

// A table that has all rows from the start, so that they are reached by their numbers too.  A block-cyclic
// owner numbers its own rows from 0.
class WholeTable {
 public:
  virtual ~WholeTable() = default;

  // The weights [size(), width], to be read and written; a running snapshot takes the call for a write.
  virtual float* values() = 0;

  // One step with gradient [size(), width].
  virtual void push_all(const float* gradient, float scale, double learning_rate, ThreadPool& pool) = 0;

  // out [size(), width] <- the weights to test and save with.
  virtual void read_all(float* out, ThreadPool& pool) const = 0;

  // The same for rows [first, first + count).  copy_range gives the weights that the next step trains.
  virtual void read_range(int64_t first, int64_t count, float* out) const = 0;
  virtual void copy_range(int64_t first, int64_t count, float* out) const = 0;

  // Sets the weights of rows [first, first + count), as if training began with them.
  virtual void load_range(int64_t first, int64_t count, const float* weights, ThreadPool& pool) = 0;
};

}  // namespace ps

#endif  // PS_TABLE_TABLE_H_
