#include <algorithm>
#include <array>
#include <utility>

#include "base/radix_sort.h"
#include "table/row_storage.h"
#include "table/table_partition.h"

namespace ps {

namespace {

// Finds rows through the hash indexes of kPartitions partitions.  Owner thread, except for find and
// insert_in, as RowStorage says.
class HashedRows final : public RowStorage {
 public:
  HashedRows(const RowLayout& layout, RowSpill* spill) : layout_(layout), spill_(spill) {
    partitions_.reserve(kPartitions);
    for (uint32_t p = 0; p < kPartitions; ++p) partitions_.emplace_back(layout_, arena_, p, spill);
  }

  size_t find(std::span<const uint64_t> keys, float** rows, uint32_t* missing) const override;
  void fetch(std::span<const uint64_t> keys) override;
  size_t find_to_read(std::span<const uint64_t> keys, float** rows, uint32_t* missing,
                      std::vector<float>& copies) override;
  void insert(std::span<const uint64_t> keys, float** rows, Device& device) override;
  bool adds_to_partitions() const override { return spill_ == nullptr; }
  void insert_in(uint32_t partition, std::span<const uint64_t> keys, float** rows) override;
  void reserve_in(uint32_t partition, uint64_t rows) override { partitions_[partition].reserve(rows); }
  size_t erase(std::span<const uint64_t> keys) override;
  bool scan(uint32_t partition, uint64_t& cursor, std::vector<uint64_t>& keys) const override {
    return partitions_[partition].scan(cursor, keys);
  }
  bool scan_all(ScanCursor& cursor, std::vector<uint64_t>& keys) const override;
  void capture(std::span<const uint64_t> keys, uint32_t first, Captured& out) override;
  void clear_captured() override;
  std::vector<uint64_t> sorted_keys() const override;
  uint64_t size() const override;
  uint64_t partition_size(uint32_t partition) const override { return partitions_[partition].size(); }
  uint64_t memory_bytes() const override;

 private:
  static constexpr size_t kAhead = 16;  // index lines are prefetched for so many keys ahead

  struct Probe {
    const TablePartition* partition;
    const KeyIndex::Bucket* bucket;
  };

  size_t find_spilled(std::span<const uint64_t> keys, float** rows, uint32_t* missing) const;
  template <class Body>
  void for_each_of(std::span<const uint64_t> keys, Body&& body);
  void deal(std::span<const uint64_t> keys);

  const RowLayout layout_;
  RowSpill* const spill_;  // null: all rows are in memory
  HugeArena arena_;        // memory of all partitions
  std::vector<TablePartition> partitions_;

  // During insert: positions of the keys sorted by partition; the positions of partition p begin at
  // dealt_starts_[p].
  std::vector<uint32_t> dealt_;
  std::array<uint32_t, kPartitions + 1> dealt_starts_;
};

// Works in groups of kGroup keys: while the rows of one group are looked up, the index lines of the next are
// being fetched from memory.  About one key in ten is not in its own bucket but in a later one, or is
// missing.  Such keys are put off until all others of the group are done; meanwhile the cache line of the
// next bucket arrives.
size_t HashedRows::find(std::span<const uint64_t> keys, float** rows, uint32_t* missing) const {
  if (spill_ != nullptr) return find_spilled(keys, rows, missing);
  size_t num_missing = 0;
  std::array<Probe, 2 * kGroup> probes;
  std::array<size_t, kGroup> late;
  auto ask = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const TablePartition* partition = &partitions_[key_partition(keys[i])];
      const KeyIndex::Bucket* bucket = &partition->bucket(keys[i]);
      __builtin_prefetch(bucket);
      probes[i % probes.size()] = {partition, bucket};
    }
  };
  ask(0, std::min(kGroup, keys.size()));
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const size_t end = std::min(begin + kGroup, keys.size());
    ask(end, std::min(end + kGroup, keys.size()));
    size_t num_late = 0;
    for (size_t i = begin; i < end; ++i) {
      const Probe& probe = probes[i % probes.size()];
      rows[i] = probe.partition->find_here(keys[i], *probe.bucket);
      if (rows[i] != nullptr) {
        layout_.prefetch(rows[i]);
        continue;
      }
      if (probe.bucket->overflowed != 0) __builtin_prefetch(probe.bucket + 1);
      late[num_late++] = i;
    }
    for (size_t i : std::span(late).first(num_late)) {
      const Probe& probe = probes[i % probes.size()];
      rows[i] = probe.partition->find(keys[i], *probe.bucket);
      if (rows[i] != nullptr) layout_.prefetch(rows[i]);
      missing[num_missing] = static_cast<uint32_t>(i);
      num_missing += rows[i] == nullptr;
    }
  }
  return num_missing;
}

// Calls body(partition, key) for all keys in order, prefetching their index lines.
template <class Body>
void HashedRows::for_each_of(std::span<const uint64_t> keys, Body&& body) {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size()) {
      const uint64_t next = keys[i + kAhead];
      __builtin_prefetch(&partitions_[key_partition(next)].bucket(next));
    }
    body(partitions_[key_partition(keys[i])], keys[i]);
  }
}

// Brings the rows of a request into memory in two passes: the first pins the blocks of all rows, and load
// then reads those on disk together, in the order of the file.  Pinned blocks stay until the next fetch.
void HashedRows::fetch(std::span<const uint64_t> keys) {
  if (spill_ == nullptr) return;
  spill_->release();
  for_each_of(keys, [](TablePartition& partition, uint64_t key) {
    const uint32_t number = partition.number(key);
    if (number != KeyIndex::kNone) partition.rows().pin(number);
  });
  spill_->load();
}

// Rows in memory are returned in place.  Rows on disk are listed first, and then read together into
// `copies`.
size_t HashedRows::find_to_read(std::span<const uint64_t> keys, float** rows, uint32_t* missing,
                                std::vector<float>& copies) {
  if (spill_ == nullptr) return find(keys, rows, missing);
  struct OnDisk {
    size_t index;  // index into `rows`
    TablePartition* partition;
    uint32_t number;
  };
  std::vector<OnDisk> on_disk;
  size_t i = 0, num_missing = 0;
  for_each_of(keys, [&](TablePartition& partition, uint64_t key) {
    const uint32_t number = partition.number(key);
    rows[i] = nullptr;
    if (number == KeyIndex::kNone) {
      missing[num_missing++] = static_cast<uint32_t>(i);
    } else if (partition.rows().is_resident(number)) {
      rows[i] = partition.rows().row(number);
    } else {
      on_disk.push_back({i, &partition, number});
    }
    ++i;
  });
  const size_t stride = static_cast<size_t>(layout_.stride());
  copies.resize(on_disk.size() * stride);
  for (size_t d = 0; d < on_disk.size(); ++d) {
    rows[on_disk[d].index] = copies.data() + d * stride;
    on_disk[d].partition->rows().plan_read(on_disk[d].number, rows[on_disk[d].index]);
  }
  spill_->read();
  return num_missing;
}

// Rows must have been fetched before.  A row on disk has the pointer null, but does not count as missing.
size_t HashedRows::find_spilled(std::span<const uint64_t> keys, float** rows, uint32_t* missing) const {
  size_t num_missing = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    const TablePartition& partition = partitions_[key_partition(keys[i])];
    const uint32_t number = partition.number(keys[i]);
    const bool is_missing = number == KeyIndex::kNone;
    rows[i] = is_missing || !partition.rows().is_resident(number) ? nullptr : partition.rows().row(number);
    missing[num_missing] = static_cast<uint32_t>(i);
    num_missing += is_missing;
  }
  return num_missing;
}

// Each partition belongs to one thread of the device, so that insertion needs no locks.  With a spill, which
// belongs to the owner thread, one thread inserts all keys, after the blocks of their rows were brought into
// memory.
void HashedRows::insert(std::span<const uint64_t> keys, float** rows, Device& device) {
  constexpr size_t kKeysWorthSharing = 1024;
  deal(keys);
  const bool is_shared = keys.size() >= kKeysWorthSharing && spill_ == nullptr;
  if (spill_ != nullptr) {
    for (size_t p = 0; p < kPartitions; ++p) {
      partitions_[p].rows().pin_next(dealt_starts_[p + 1] - dealt_starts_[p]);
    }
    spill_->load();
  }
  const int64_t at_once = is_shared ? 1 : int64_t{kPartitions};
  device.for_each(kPartitions, at_once, [&](int64_t first, int64_t last) {
    for (size_t p = static_cast<size_t>(first); p < static_cast<size_t>(last); ++p) {
      for (uint32_t d = dealt_starts_[p]; d < dealt_starts_[p + 1]; ++d) {
        rows[dealt_[d]] = partitions_[p].insert(keys[dealt_[d]]);
      }
    }
  });
}

// The key at distance kAhead is prefetched for writing, since insertion changes the line of its bucket.
void HashedRows::insert_in(uint32_t partition, std::span<const uint64_t> keys, float** rows) {
  TablePartition& own = partitions_[partition];
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size()) __builtin_prefetch(&own.bucket(keys[i + kAhead]), /*rw=*/1);
    rows[i] = own.insert(keys[i]);
  }
}

// Sorts the positions of the keys by partition (a counting sort, which keeps the order of the keys within
// each).
void HashedRows::deal(std::span<const uint64_t> keys) {
  std::array<uint32_t, kPartitions> next{};
  for (uint64_t key : keys) ++next[key_partition(key)];
  uint32_t total = 0;
  // The exchange turns next[p] from the number of keys of the partition into the place of its first
  // position.
  for (size_t p = 0; p < kPartitions; ++p) {
    dealt_starts_[p] = total;
    total += std::exchange(next[p], total);
  }
  dealt_starts_[kPartitions] = total;
  dealt_.resize(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) dealt_[next[key_partition(keys[i])]++] = i;
}

size_t HashedRows::erase(std::span<const uint64_t> keys) {
  size_t erased = 0;
  for_each_of(keys, [&](TablePartition& partition, uint64_t key) { erased += partition.erase(key); });
  return erased;
}

// Works in groups like find.  Most keys of a writer were copied before; for those the cost is reading the
// index and their bit.
void HashedRows::capture(std::span<const uint64_t> keys, uint32_t first, Captured& out) {
  struct Asked {
    uint64_t key;
    TablePartition* partition;
    const KeyIndex::Bucket* bucket;
  };
  std::array<Asked, kGroup> asked;
  out.keys.clear();
  out.rows.clear();
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    size_t count = 0;
    for (uint64_t key : keys.subspan(begin, std::min(kGroup, keys.size() - begin))) {
      const uint32_t p = key_partition(key);
      // Partitions before `first` have been given out, so the snapshot needs nothing of them.
      if (p < first) continue;
      asked[count] = {key, &partitions_[p], &partitions_[p].bucket(key)};
      __builtin_prefetch(asked[count++].bucket);
    }
    for (const Asked& one : std::span(asked).first(count)) {
      const uint32_t number = one.partition->number(one.key);
      if (number == KeyIndex::kNone || !one.partition->rows().capture(number)) continue;
      out.keys.push_back(one.key);
      if (spill_ == nullptr) out.rows.push_back(one.partition->rows().row(number));
      if (spill_ == nullptr) layout_.prefetch(out.rows.back());
    }
  }
  if (spill_ == nullptr) return;
  std::vector<uint32_t> missing(out.keys.size());
  out.rows.resize(out.keys.size());
  find_to_read(out.keys, out.rows.data(), missing.data(), out.copies);
}

void HashedRows::clear_captured() {
  for (TablePartition& partition : partitions_) partition.rows().clear_captured();
}

// The loop passes over partitions that are at their end.
bool HashedRows::scan_all(ScanCursor& cursor, std::vector<uint64_t>& keys) const {
  for (; cursor.partition < partitions_.size(); cursor = {cursor.partition + 1, 0}) {
    if (scan(cursor.partition, cursor.position, keys)) return true;
  }
  return false;
}

std::vector<uint64_t> HashedRows::sorted_keys() const {
  std::vector<uint64_t> keys;
  keys.reserve(size());
  for (ScanCursor cursor; scan_all(cursor, keys);) continue;
  radix_sort(keys);
  return keys;
}

uint64_t HashedRows::size() const {
  uint64_t rows = 0;
  for (const TablePartition& partition : partitions_) rows += partition.size();
  return rows;
}

uint64_t HashedRows::memory_bytes() const {
  uint64_t bytes = 0;
  for (const TablePartition& partition : partitions_) bytes += partition.memory_bytes();
  return bytes;
}

}  // namespace

std::unique_ptr<RowStorage> make_hashed_rows(const RowLayout& layout, RowSpill* spill) {
  return std::make_unique<HashedRows>(layout, spill);
}

}  // namespace ps
