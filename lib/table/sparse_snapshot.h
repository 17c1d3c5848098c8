// SparseSnapshot: gives out the rows of a sparse table as they were at one moment, in small steps, while
// training goes on.  Used by TrainedRows, for checkpoints.
//
// Copy on write: each row is copied once, by the sweep or by the writer that is about to change it, whichever
// comes first; a bit of the row tells that it was copied.  Rows are given out a partition at a time, in the
// order in which they were copied: another thread sorts them (snapshot_rows.h).
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
  // The snapshot holds the rows at the time of the call.  `max_bytes` limits the memory of copied rows,
  // without the rows of one partition, and of lists of keys, which take up to a quarter of it.  Once half of
  // it is used, writers have to sweep.
  SparseSnapshot(const RowLayout& layout, RowStorage& rows, uint64_t max_bytes, SnapshotSink sink);
  ~SparseSnapshot();
  SparseSnapshot(const SparseSnapshot&) = delete;
  SparseSnapshot& operator=(const SparseSnapshot&) = delete;

  // To be called before the rows of these keys are written or erased.  Copies them.  When memory runs short,
  // it sweeps, and may so call the sink.  If rows cannot be read from disk, the next call of sweep throws,
  // not this one, since the writer's own work has not failed.
  void keep(std::span<const uint64_t> keys);

  // To be called after rows of these keys were created: they do not belong to the snapshot.
  void leave_out(std::span<const uint64_t> keys);

  // Copies about `rows` more rows, or does an equal amount of other work, at some 50 ns a row.  Returns false
  // when all rows were given out.  Throws as RowSpill::load does when rows could not be read; the snapshot
  // has then failed.
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
  const uint64_t total_rows_;  // rows of the table when the snapshot began
  uint64_t copied_rows_ = 0;

  const std::shared_ptr<SnapshotSlabs> memory_;
  std::vector<SnapshotRows> held_;  // copied rows of each partition, until it is given out
  uint64_t held_bytes_ = 0;

  std::optional<Error> error_;  // set when rows could not be read: the snapshot has failed

  // The position of the sweep: all partitions before partition_ were given out, and cursor_ is the position
  // within it.
  uint32_t partition_ = 0;
  uint64_t cursor_ = 0;
  KeyLists lists_;        // keys of partition_ and some after it, if scans_partitions() is false
  bool listing_ = false;  // lists_ has not seen all rows yet

  // During a call.
  std::vector<uint64_t> piece_;
  RowStorage::Captured captured_;
};

}  // namespace ps

#endif  // PS_TABLE_SPARSE_SNAPSHOT_H_
