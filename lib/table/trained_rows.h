// TrainedRows: the rows that a sparse table has, with the optimizer that trains them.  Finds and makes rows,
// brings them up to date with all steps begun, updates them, and has the running snapshot copy them before
// they change.  Used by SparseTable and RowPolicyState.
#ifndef PS_TABLE_TRAINED_ROWS_H_
#define PS_TABLE_TRAINED_ROWS_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "math/device.h"
#include "math/initializer.h"
#include "optim/optimizer.h"
#include "optim/row_policy.h"
#include "table/key_lists.h"
#include "table/row_block.h"
#include "table/row_layout.h"
#include "table/row_storage.h"
#include "table/row_values.h"
#include "table/sparse_snapshot.h"
#include "table/table_partition.h"

namespace ps {

// Owner thread only.  Without a spill, any thread may read while no thread changes the rows.
class TrainedRows {
 public:
  // See the constructor of SparseTable.  Rows have a history if there is a policy; keys without a row read as
  // zero if it has admission.
  TrainedRows(int64_t width, uint64_t bound, const Initializer& initializer,
              std::unique_ptr<Optimizer<float>> optimizer, const std::optional<RowPolicy>& policy,
              RowSpill* spill);
  ~TrainedRows();
  TrainedRows(const TrainedRows&) = delete;
  TrainedRows& operator=(const TrainedRows&) = delete;

  Optimizer<float>& optimizer() const { return *optimizer_; }
  const RowLayout& layout() const { return layout_; }
  const RowValues& values() const { return values_; }
  const RowStorage& storage() const { return *storage_; }
  uint64_t memory_bytes() const;
  bool spilled() const { return spilled_; }

  // Returns the number of rows that one thread works on at a time.
  int64_t rows_at_once() const { return block_; }

  // rows[i] <- the row of keys[i], up to date, or null.  Returns the positions of keys without a row in
  // ascending order; valid until the next call of find.
  std::span<const uint32_t> find(std::span<const uint64_t> keys, Device& device, std::span<float*> rows);

  // The same, but gives rows as they are stored, not brought up to date.
  std::span<const uint32_t> find_stored(std::span<const uint64_t> keys, Device& device,
                                        std::span<float*> rows);

  // Like find, but creates missing rows.  Returns the number of created rows.
  size_t find_or_create(std::span<const uint64_t> keys, Device& device, std::span<float*> rows);

  // The same, but the floats of created rows are not set.
  size_t find_or_insert(std::span<const uint64_t> keys, Device& device, std::span<float*> rows);

  // rows[i] <- a new row for keys[i]; its floats are not set.  The keys must be distinct and have no rows.
  // When it throws, no key has got a row.
  void insert(std::span<const uint64_t> keys, Device& device, std::span<float*> rows);

  void bring_up_to_date(std::span<const uint64_t> keys, std::span<float* const> rows, Device& device);

  // For a step that is applied in parts: until end_step, rows that have seen all steps before it read as they
  // are.
  void begin_step(double learning_rate) {
    optimizer_->begin_step(learning_rate);
    in_step_ = true;
  }
  void end_step() { in_step_ = false; }

  // Applies the step begun last to rows, with gradients [keys, width].
  void update(std::span<const uint64_t> keys, std::span<float* const> rows, const float* gradients,
              float scale, Device& device);

  // To be called before the rows of these keys are written.
  void about_to_write(std::span<const uint64_t> keys) {
    if (snapshot_) snapshot_->keep(keys);
  }

  // load sets the weights [keys, width] of rows, as if they had just been created with them; restore sets
  // whole rows from a block.  Both return the number of rows that they created.
  size_t load(std::span<const uint64_t> keys, const float* weights, Device& device);
  size_t restore(const RowBlock& rows, Device& device);

  // See Table::restore_partition.
  bool restores_partitions() const { return storage_->adds_to_partitions() && !snapshot_; }
  void restore_partition(uint32_t partition, const RowBlock& rows, uint64_t expected);

  // Removes the rows of those keys that have one, and returns their number.
  size_t erase(std::span<const uint64_t> keys);

  // weights [keys, width] <- the weights to test and save with.
  void read(std::span<const uint64_t> keys, float* weights) const;
  size_t num_missing(std::span<const uint64_t> keys) const;

  // See Table::save_rows and Table::copy_rows.
  void save(uint32_t partition, const KeyLists& lists, size_t at_once,
            const std::function<void(const RowBlock&)>& take) const;
  void copy(std::span<const uint64_t> keys, RowBlock& rows) const;

  // Calls body(key, row) for the rows of these keys, which must have one, as they are stored, not brought up to
  // date.  With `writes` the body may write the row; it must not insert or erase.
  template <class Body>
  void visit(std::span<const uint64_t> keys, bool writes, Body&& body) {
    auto prepare = [this, writes](std::span<const uint64_t> some) {
      if (!writes) return;
      storage_->fetch(some);
      about_to_write(some);
    };
    storage_->visit(keys, prepare, body);
  }

  // The same for the rows of one partition (table_partition.h), in an arbitrary order and for reading only.
  template <class Body>
  void for_each_row(uint32_t partition, Body&& body) const {
    auto read = [&](uint64_t key, const float* row) { body(key, row); };
    storage_->for_each_row(
        partition, [](std::span<const uint64_t>) {}, read);
  }

  // Calls body(partition) for all partitions, shared over the device.  With a snapshot or a spill, which belong
  // to the owner thread, that thread calls it alone.
  template <class Body>
  void for_each_partition(Device& device, Body&& body) const {
    const int64_t at_once = snapshot_ || spilled_ ? int64_t{kPartitions} : 1;
    device.for_each(kPartitions, at_once, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) body(static_cast<uint32_t>(p));
    });
  }

  // See Table::begin_snapshot and the methods that follow it there.
  void begin_snapshot(uint64_t max_bytes, SnapshotSink sink);
  bool sweep_snapshot(uint64_t rows);
  void end_snapshot() { snapshot_.reset(); }
  bool has_snapshot() const { return snapshot_ != nullptr; }

 private:
  // Calls body(block, first) to write rows, where block[0] is rows[first].
  template <class Body>
  void write(std::span<const uint64_t> keys, std::span<float* const> rows, Device& device, Body&& body);
  size_t find_block(std::span<const uint64_t> keys, std::span<float*> rows, uint32_t* missing,
                    bool up_to_date) const;
  std::span<const uint32_t> find_in_blocks(std::span<const uint64_t> keys, Device& device,
                                           std::span<float*> rows, bool up_to_date);
  int64_t last_step_of(const float* found) const;
  void read_row(uint64_t key, float* found, std::span<float> scratch, float* weights) const;

  const std::unique_ptr<Optimizer<float>> optimizer_;
  const RowLayout layout_;
  const RowValues values_;
  const int64_t block_;  // rows_at_once()
  const bool spilled_;
  const bool absent_reads_zero_;  // keys without a row wait for admission
  const std::unique_ptr<RowStorage> storage_;
  std::unique_ptr<SparseSnapshot> snapshot_;  // the running one, or null
  bool in_step_ = false;                      // some rows may still have to be updated

  // During find: positions of keys without a row.  While threads search, block number i of the keys writes
  // its block_missing_[i] positions to missing_ from i * block_ on.
  std::vector<uint32_t> missing_;
  std::vector<size_t> block_missing_;

  // During find_or_insert: the keys without a row, and their new rows.
  std::vector<uint64_t> new_keys_;
  std::vector<float*> new_rows_;
};

}  // namespace ps

#endif  // PS_TABLE_TRAINED_ROWS_H_
