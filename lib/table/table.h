// Table: the rows of one parameter that one process or one shard has, with their optimizer.  SparseTable holds
// the rows that were used so far, DenseTable all rows.  Used by ParameterTables, LocalStore and ShardTables,
// which treat both alike.
//
// A table in the memory of a GPU (table/cuda/device_table.h) does not implement this interface.  A Table returns pointers and
// counts at once, and the host reads and writes rows through these pointers; a DeviceTable queues its calls on a stream, and
// the host sees their results after a whole batch.  One interface for both would make every call wait for the GPU.  What
// both share is below and above them: the same steps of optimizers (optim/kernels), and the same ParameterStore, because
// DeviceStore (device/device_store.h) keeps a DeviceTable in front of a store of Tables.
#ifndef PS_TABLE_TABLE_H_
#define PS_TABLE_TABLE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "math/device.h"
#include "math/key_plan.h"
#include "optim/optimizer.h"
#include "table/block_cyclic.h"
#include "table/key_lists.h"
#include "table/row_block.h"
#include "table/snapshot_rows.h"

namespace ps {

class RowPolicyState;
class WholeTable;

// The kind of rows that a table has, for checkpoints.
struct RowFormat {
  bool sparse = false;
  int state_arrays = 0;                      // state arrays of the optimizer, as wide as the weights
  bool stamped = false;                      // each row stores the number of steps that it has seen
  std::vector<std::string> statistics = {};  // names of the other floats of a row
};

// Gradients of some rows.  A row occurs at most once in all pieces of a step.
struct KeyedGradients {
  std::span<const uint64_t> keys;
  std::span<float* const> rows;  // pointers that pull gave
  const float* gradients;        // [keys, width]
};

// Receives a snapshot: the rows of a sparse table partition by partition; all floats of a dense table at
// once, at the end: weights [rows, width], then state arrays of the same shape.  Neither function may throw.
struct TableSink {
  SnapshotSink rows = {};
  std::function<void(std::vector<float> floats)> whole = {};
};

// Owner thread only, unless a method says otherwise; a table shares its work over the device.
class Table {
 public:
  virtual ~Table() = default;

  virtual RowFormat format() const = 0;
  virtual int64_t width() const = 0;
  virtual uint64_t size() const = 0;  // number of rows at present
  virtual uint64_t memory_bytes() const = 0;

  // Returns null if the values are a statistic, which only its layer changes.
  virtual Optimizer<float>* optimizer() const = 0;

  // Returns null if there is no policy: rows then neither wait for admission nor expire.
  virtual RowPolicyState* policy() const { return nullptr; }

  // Both return null if rows can be accessed only by their keys. deal says which rows of the parameter these
  // are.
  virtual WholeTable* whole() { return nullptr; }
  virtual const BlockCyclicRows* deal() const { return nullptr; }

  // ---- training, by key

  // rows[n] <- pointer to the weights of keys[n], up to date with all steps begun, which push then updates in
  // place.  Creates missing rows, except in a table with a policy, whose push creates them: there a key
  // without a row gets a pointer to stand-in weights, valid until the next pull.
  virtual void pull(std::span<const uint64_t> keys, Device& device, std::span<float*> rows) = 0;
  void pull(const KeyPlan& plan, Device& device, std::vector<float*>& rows) {
    rows.resize(plan.keys.size());
    pull(plan.keys, device, rows);
  }

  // Returns true if pointers that pull gives stay valid until the row is erased: there is neither a policy
  // nor a spill.
  virtual bool rows_stay() const = 0;

  // Returns true if rows may be on disk.
  virtual bool spilled() const { return false; }

  // Does the work of pull for rows whose pointers an earlier pull gave and that are still valid.
  virtual void bring_up_to_date(std::span<const uint64_t> keys, std::span<float* const> rows,
                                Device& device) = 0;

  // Begins the next step, then applies gradients [N, width] to the rows that pull gave for the same plan.  A
  // table with a policy also adds plan.counts to histories, creates rows, and drops the gradients of keys
  // without a row.
  virtual void push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
                    double learning_rate, Device& device) = 0;

  // The same for a step whose gradients lie in several arrays.  Not for a table with a policy.
  virtual void push(std::span<const KeyedGradients> pieces, float scale, double learning_rate,
                    Device& device) = 0;

  // ---- training in parts: the same as push with all pieces, but in several calls, between which rows may be
  // read; a table with a policy takes parts through it (RowPolicyState::find_part)

  // Parts are pieces by keys, or, in a table that has all rows, ascending ranges.  begin_step comes first, when the
  // rows of all pieces have been pulled and are up to date; end_step comes last.  In between no row may be loaded
  // or erased; nor pulled, if rows have stamps.  A row reads as before the step until its part has come.
  virtual void begin_step(double learning_rate) = 0;
  virtual void end_step() {}

  // rows[n] <- pointer to the row of keys[n], which pull has found for this step; null if a policy has refused
  // it one.  For rows on disk, to which pointers of one pull are valid until the next.
  virtual void find_again(std::span<const uint64_t> /*keys*/, Device& /*device*/,
                          std::span<float*> /*rows*/) {}

  // Applies the step to the rows of a piece.  A row occurs at most once in all pieces of a step.  A table
  // that has all rows takes only ranges: WholeTable::push_range.
  virtual void push_part(const KeyedGradients& piece, float scale, Device& device) = 0;

  // ---- reading and models, by key

  // weights [keys, width] <- the weights to test and save with.  Does not change the table.  Any thread,
  // while no thread changes the table; with a spill, the owner thread.
  virtual void read_rows(std::span<const uint64_t> keys, float* weights) const = 0;

  // The same for many keys, shared over the device where that is worth it.
  virtual void read_rows(std::span<const uint64_t> keys, float* weights, Device& /*device*/) const {
    read_rows(keys, weights);
  }

  // Sets weights [keys, width], as if training began with them.
  virtual void load_rows(std::span<const uint64_t> keys, const float* weights, Device& device) = 0;

  // Appends the keys of some more rows, as RowStorage::scan_all does.  Returns false at the end.
  virtual bool scan_keys(ScanCursor& cursor, std::vector<uint64_t>& keys) const = 0;
  virtual std::vector<uint64_t> sorted_keys() const = 0;

  // Returns the bytes of one more row, with its part of the index; 0 for a table that has all rows from the
  // start.
  virtual uint64_t new_row_bytes() const = 0;

  // Counts the keys that have no row.  Any thread, while no thread changes the table.
  virtual size_t num_missing(std::span<const uint64_t> keys) const = 0;

  // ---- checkpoints

  // Lists the keys of the partitions for save_rows, in a table that does not keep its rows by partition.
  virtual KeyLists list_keys() const = 0;

  // Calls take(rows) with the rows of one partition as they are stored, in the order of their keys, up to
  // `at_once` in a block.  Any thread, if the table has not changed since `lists` were made; with a spill, the
  // owner thread.
  virtual void save_rows(uint32_t partition, const KeyLists& lists, size_t at_once,
                         const std::function<void(const RowBlock&)>& take) const = 0;

  // rows <- the rows of those of these keys that have one, as they are stored.  The keys must ascend.
  virtual void copy_rows(std::span<const uint64_t> keys, RowBlock& rows) const = 0;

  // Removes the rows of these keys, which then read as if they never had one.  Returns the number of removed
  // rows.  Pointers to other rows stay valid.  A table that has all rows from the start keeps them.
  virtual size_t erase(std::span<const uint64_t> /*keys*/) { return 0; }

  // Sets rows that save_rows, copy_rows or a snapshot gave; skips rows that belong to other owners of the
  // parameter.  Returns the number of rows set.
  virtual uint64_t restore_rows(const RowBlock& rows, Device& device) = 0;

  // Sets rows that a borrower has trained.  A table with a policy sets weights, state and stamps of those keys
  // that have a row; others set whole rows, and create them.
  virtual void put_rows(const RowBlock& rows, Device& device) { restore_rows(rows, device); }

  // The same for rows of one partition, none of which exists yet; `expected` rows of it will come in all.
  // Different threads may restore different partitions.  Only if restores_partitions().
  virtual bool restores_partitions() const { return false; }
  virtual void restore_partition(uint32_t /*partition*/, const RowBlock& /*rows*/, uint64_t /*expected*/) {}

  // Begins a snapshot of all rows as they are now, which goes to `sink` while training goes on.  Writers of
  // the table copy up to about max_bytes of rows before they overwrite them, and may call the sink.  No other
  // snapshot may be running.
  virtual void begin_snapshot(uint64_t max_bytes, TableSink sink) = 0;

  // Works on the snapshot for as long as copying `rows` rows takes.  Returns false when it is complete; it has
  // then ended.
  virtual bool sweep_snapshot(uint64_t rows) = 0;
  virtual void end_snapshot() = 0;
  virtual bool has_snapshot() const = 0;
};

// A table that has all rows from the start, so that they can be reached by their numbers too.  A block-cyclic
// owner numbers its own rows from 0.
class WholeTable {
 public:
  virtual ~WholeTable() = default;

  // Returns the weights [size(), width] for reading and writing; a running snapshot treats the call as a
  // write.
  virtual float* values() = 0;

  // Makes one step with gradient [size(), width].
  virtual void push_all(const float* gradient, float scale, double learning_rate, Device& device) = 0;

  // Applies a part of a step, between begin_step and end_step of the table, to weights [first, first + count)
  // of all, which are whole rows, with their gradient.
  virtual void push_range(int64_t first, int64_t count, const float* gradient, float scale,
                          Device& device) = 0;

  // out [size(), width] <- the weights to test and save with.
  virtual void read_all(float* out, Device& device) const = 0;

  // The same for rows [first, first + count).  copy_range gives the weights that the next step trains.
  virtual void read_range(int64_t first, int64_t count, float* out) const = 0;
  virtual void copy_range(int64_t first, int64_t count, float* out) const = 0;

  // Sets the weights of rows [first, first + count), as if training began with them.
  virtual void load_range(int64_t first, int64_t count, const float* weights, Device& device) = 0;

  // The rows as they are stored: the size() rows of the weights, then those of each state array.
  virtual int64_t num_stored_rows() const = 0;
  virtual void copy_stored(int64_t first, int64_t count, float* out) const = 0;
  virtual void set_stored(int64_t first, int64_t count, const float* rows) = 0;
};

}  // namespace ps

#endif  // PS_TABLE_TABLE_H_
