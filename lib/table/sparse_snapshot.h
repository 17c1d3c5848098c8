// SparseSnapshot: the rows of a sparse table as they were at one moment, given out in small steps while the
// table goes on.  Used by TrainedRows, for checkpoints.
//
// Copy on write: each row is copied once, by the sweep or by the writer that is about to change it, whichever
// comes first; a bit beside the row tells that it was.  Rows are given out a partition at a time,
// in the order in which they were copied: sorting them is for another thread (snapshot_rows.h).
#ifndef PS_TABLE_SPARSE_SNAPSHOT_H_
#define PS_TABLE_SPARSE_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "table/key_lists.h"
#include "table/row_storage.h"
#include "table/snapshot_rows.h"
#include "table/table_partition.h"

namespace ps {

// Owner thread only.  The store must outlive it.
class SparseSnapshot {
 public:
  // The moment is that of the call.  `max_bytes`: for copied rows, beside those of one partition, and for
  // lists of keys, which take up to a quarter of it; from half of it on, writers wait for sweeps.
  SparseSnapshot(const RowLayout& layout, RowStorage& rows, uint64_t max_bytes, SnapshotSink sink);
  ~SparseSnapshot();
  SparseSnapshot(const SparseSnapshot&) = delete;
  SparseSnapshot& operator=(const SparseSnapshot&) = delete;

  // To be called before the rows of these keys are written or erased.  May sweep, and so call the
  // sink, when it would hold more than max_bytes.  Rows that cannot be read are an error of the next sweep:
  // a writer has nothing to do with what went wrong.
  void keep(std::span<const uint64_t> keys);

  // To be called when rows of these keys were made: they are not part of the snapshot.
  void leave_out(std::span<const uint64_t> keys);

  // Copies some `rows` of what is left, or does as much work on the way there: some 50 ns each.  False when
  // all are given.  Throws as RowSpill::load when rows could not be read: then it comes to nothing.
  bool sweep(uint64_t rows);

  uint64_t memory_bytes() const { return held_bytes_ + lists_.memory_bytes(); }

 private:
  void keep_some(std::span<const uint64_t> keys);
  void make_room(uint64_t rows);
  void copy(std::span<const uint64_t> keys);
  uint64_t step();
  bool next_piece();
  bool next_listed();
  void begin_lists();
  void give();

  const RowLayout layout_;
  RowStorage& rows_;
  const uint64_t max_bytes_;
  const SnapshotSink sink_;
  const uint64_t row_bytes_;
  const uint64_t total_rows_;  // of the store, at the moment
  uint64_t copied_rows_ = 0;

  const std::shared_ptr<SnapshotSlabs> memory_;
  std::vector<SnapshotRows> held_;  // of each partition, until it is given
  uint64_t held_bytes_ = 0;

  std::optional<Error> error_;  // rows could not be read: nothing more is kept or given

  // How far the sweep is: it has given all partitions before this one, and is at the cursor in it.
  uint32_t partition_ = 0;
  uint64_t cursor_ = 0;
  KeyLists lists_;        // of this partition and some after it, where they are listed before
  bool listing_ = false;  // lists_ has not seen all rows yet

  // During a call.
  std::vector<uint64_t> piece_;
  RowStorage::Captured captured_;
};

}  // namespace ps

#endif  // PS_TABLE_SPARSE_SNAPSHOT_H_
