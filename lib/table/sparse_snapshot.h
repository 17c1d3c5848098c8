// SparseSnapshot: the rows of a sparse table as they were at one moment, given out in small steps while the
// table goes on.  Used by SparseTable, for checkpoints.
//
// Copy on write: whoever is about to write rows says so first, and those that were not given out yet are kept
// aside, as they are, until it is their turn.  All is by keys, so that rows may come, go and take each
// other's places meanwhile.
#ifndef PS_TABLE_SPARSE_SNAPSHOT_H_
#define PS_TABLE_SPARSE_SNAPSHOT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "table/row_block.h"
#include "table/row_store.h"
#include "table/table_partition.h"

namespace ps {

// Takes some rows of one partition, which is good until it returns.  Partitions come in their order, the keys
// of each ascending: the same rows give the same calls, but for how they are cut into blocks.  It must not
// throw: it may be called by a writer, who has nothing to do with what went wrong.
using SnapshotSink = std::function<void(uint32_t partition, const RowBlock& rows)>;

struct SnapshotOptions {
  bool only_changed = false;               // only rows that are marked in the store
  uint64_t max_bytes = uint64_t{1} << 28;  // for rows kept aside; from half of it on, writers wait for sweeps
};

// Owner thread only.  The store must outlive it.
class SparseSnapshot {
 public:
  // The moment is that of the call.
  SparseSnapshot(const RowLayout& layout, RowStore& rows, const SnapshotOptions& options, SnapshotSink sink);
  ~SparseSnapshot();

  // To be called before the rows of these keys are written, erased or marked; or, for leave_out, made.  May
  // sweep, and so call the sink, when it would keep more than max_bytes.
  void keep(std::span<const uint64_t> keys);
  void leave_out(std::span<const uint64_t> keys);

  // Gives out some `rows` of what is left, or does as much work on the way there: 0.2 µs each.  False when
  // all are given.
  bool sweep(uint64_t rows);

  // Held for rows kept aside and the keys of the partition that is swept.
  uint64_t memory_bytes() const { return kept_bytes_ + keys_.capacity() * sizeof(uint64_t); }

 private:
  static constexpr uint32_t kPartitions = 1u << kPartitionBits;

  // What a partition's sweep does: it collects the keys in the store, then those that are only kept aside,
  // and gives out the rows of both, merged.
  enum class Phase { kStored, kKept, kGive };

  struct Kept;

  // Keys in [next, end) of keys_, ascending.
  struct Run {
    size_t next, end;
  };

  bool is_swept(uint32_t partition, uint64_t key) const;
  bool is_kept(uint32_t partition, uint64_t key) const;
  void find_unswept(std::span<const uint64_t> keys);
  void make_room(uint64_t rows);
  void keep_unswept();
  void keep_row(uint64_t key, const float* row);

  uint64_t step();
  uint64_t collect_stored();
  uint64_t collect_kept();
  uint64_t give();
  void collect_piece();
  void end_run();
  void begin_giving();
  uint64_t take_smallest();
  void copy_rows();
  void end_partition();

  const RowLayout layout_;
  RowStore& rows_;
  const SnapshotOptions options_;
  const SnapshotSink sink_;
  const uint64_t total_rows_;  // of the store, at the moment
  uint64_t given_rows_ = 0;

  std::array<std::unique_ptr<Kept>, kPartitions> kept_;
  uint64_t kept_bytes_ = 0;

  // Of the sweep.
  uint32_t partition_ = 0;
  Phase phase_ = Phase::kStored;
  uint64_t cursor_ = 0;         // of what is collected from
  bool given_any_ = false;      // of this partition
  uint64_t last_given_ = 0;     // key
  std::vector<uint64_t> keys_;  // of the partition, in runs
  std::vector<Run> runs_;       // when giving: a heap, the smallest key on top

  // Of one step.
  std::vector<uint64_t> piece_;
  RowBlock block_;

  // Of one call of keep.
  std::vector<uint64_t> unswept_;

  // Of one look-up.
  std::vector<float*> found_;
  std::vector<uint32_t> missing_;
  std::vector<float> copies_;
};

}  // namespace ps

#endif  // PS_TABLE_SPARSE_SNAPSHOT_H_
