#include "table/sparse_snapshot.h"

#include "base/current_error.h"

#include <algorithm>
#include <utility>

namespace ps {

static constexpr size_t kSweptKeys = 256;   // keys swept at a time: their lines stay in the nearest caches
static constexpr uint64_t kPieceWork = 64;  // fixed cost of a call of RowStorage::scan, in copies of rows

SparseSnapshot::SparseSnapshot(const RowLayout& layout, RowStorage& rows, uint64_t max_bytes,
                               SnapshotSink sink)
    : layout_(layout),
      rows_(rows),
      max_bytes_(max_bytes),
      sink_(std::move(sink)),
      row_bytes_(sizeof(uint64_t) + static_cast<uint64_t>(layout.floats()) * sizeof(float)),
      total_rows_(rows.size()),
      memory_(std::make_shared<SnapshotSlabs>(layout)) {
  held_.reserve(kPartitions);
  for (uint32_t p = 0; p < kPartitions; ++p) held_.emplace_back(layout, memory_);
}

SparseSnapshot::~SparseSnapshot() {
  rows_.clear_captured();
}

// An error here is kept for the next sweep, since the writer that calls this has done nothing wrong.
void SparseSnapshot::keep(std::span<const uint64_t> keys) {
  if (error_) return;
  try {
    keep_some(keys);
  } catch (...) {
    error_ = current_error();
  }
}

// Works in blocks of keys: room is made before each, and its rows are copied while their lines are near.
// Once all partitions were given out, nothing is left to copy.
void SparseSnapshot::keep_some(std::span<const uint64_t> keys) {
  for (size_t begin = 0; begin < keys.size() && partition_ < kPartitions; begin += kSweptKeys) {
    const auto block = keys.subspan(begin, std::min(kSweptKeys, keys.size() - begin));
    make_room(block.size());
    copy(block);
  }
}

// capture sets the bits of the new rows, as if they were copied, and this drops the rows that it lists.
void SparseSnapshot::leave_out(std::span<const uint64_t> keys) {
  rows_.capture(keys, partition_, captured_);
}

// Makes writers sweep once half of the memory is used.  For each row that a writer is about to copy, it
// sweeps left / room rows, where `left` rows are not copied yet and memory has room for `room` rows: at this
// rate the sweep ends before the memory is full, and its cost is spread evenly over the writers.
void SparseSnapshot::make_room(uint64_t rows) {
  if (memory_bytes() < max_bytes_ / 2) return;
  auto room = [&] {
    const uint64_t used = memory_bytes();
    return max_bytes_ > used ? (max_bytes_ - used) / row_bytes_ : 0;
  };
  const uint64_t left = total_rows_ > copied_rows_ ? total_rows_ - copied_rows_ : 0;
  sweep(rows * left / std::max<uint64_t>(room(), 1));
  while (room() < rows && sweep(kSweptKeys)) continue;
}

// Copies the rows of those keys that belong to the snapshot and are not copied yet.
void SparseSnapshot::copy(std::span<const uint64_t> keys) {
  rows_.capture(keys, partition_, captured_);
  const uint64_t copied = captured_.keys.size();
  for (size_t i = 0; i < captured_.keys.size(); ++i) {
    const uint64_t key = captured_.keys[i];
    held_[key_partition(key)].add(key, captured_.rows[i]);
  }
  copied_rows_ += copied;
  held_bytes_ += copied * row_bytes_;
}

bool SparseSnapshot::sweep(uint64_t rows) {
  if (error_) throw *error_;
  for (uint64_t done = 0; done < rows && partition_ < kPartitions;) done += step();
  return partition_ < kPartitions;
}

// Copies one piece of the current partition, or gives the partition out when it is complete.  Returns the
// work done, in rows.  A key that the scan gives twice, since its segment was split, is copied once.
uint64_t SparseSnapshot::step() {
  piece_.clear();
  if (!next_piece()) {
    give();
    return kPieceWork;
  }
  copy(piece_);
  return kPieceWork + captured_.keys.size();
}

// piece_ <- some more keys of the partition; none while keys are still being listed.  Returns false at the
// end.
bool SparseSnapshot::next_piece() {
  if (rows_.scans_partitions()) return rows_.scan(partition_, cursor_, piece_);
  if (!lists_.has(partition_)) begin_lists();
  if (!listing_) return next_listed();
  listing_ = lists_.look(rows_);
  return true;
}

// An empty piece tells the end of the partition.
bool SparseSnapshot::next_listed() {
  constexpr uint64_t kKeys = 1024;
  const std::span<const uint32_t> keys = lists_.of(partition_);
  const auto some = keys.subspan(cursor_, std::min(kKeys, keys.size() - cursor_));
  piece_.assign(some.begin(), some.end());
  cursor_ += some.size();
  return !some.empty();
}

// Begins a list of the keys of as many partitions as memory allows, but of at least one.
void SparseSnapshot::begin_lists() {
  const uint64_t partition_bytes = 1 + rows_.size() * sizeof(uint32_t) / kPartitions;
  const uint64_t count = std::clamp<uint64_t>(max_bytes_ / 4 / partition_bytes, 1, kPartitions - partition_);
  lists_ = KeyLists(partition_, partition_ + static_cast<uint32_t>(count));
  listing_ = true;
}

// held_bytes_ falls at once, though the rows live until the sink is done with them.
void SparseSnapshot::give() {
  SnapshotRows rows = std::exchange(held_[partition_], SnapshotRows(layout_, memory_));
  held_bytes_ -= rows.size() * row_bytes_;
  if (lists_.has(partition_)) lists_.forget(partition_);
  const uint32_t partition = partition_++;
  cursor_ = 0;
  if (rows.size() > 0) sink_(partition, std::move(rows));
}

}  // namespace ps
