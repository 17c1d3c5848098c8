#include "table/sparse_table.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "table/sort_keys.h"

namespace ps {

namespace {

// Index lines, then rows, lie anywhere in memory, and a core can wait for some thirty lines at once: keys are
// looked up in groups, all of whose lines have been asked for.
constexpr size_t kGroup = 32;

// Below this many keys, waking other threads costs more than they bring.
constexpr int64_t kKeysWorthSharing = 512;

}  // namespace

SparseTable::SparseTable(int64_t width, const Initializer& initializer,
                         std::unique_ptr<Optimizer<float>> optimizer)
    : optimizer_(std::move(optimizer)),
      layout_(width, optimizer_->state_arrays(), !optimizer_->idle_is_identity()),
      initializer_(initializer) {
  partitions_.reserve(size_t{1} << kPartitionBits);
  for (int p = 0; p < 1 << kPartitionBits; ++p) partitions_.emplace_back(layout_, arena_);
}

// Calls body(p, begin, end) for every partition p with keys [begin, end) in the plan.
template <class Body>
void SparseTable::for_partitions(const KeyPlan& plan, ThreadPool& pool, Body&& body) const {
  PS_CHECK(plan.partition_starts.size() == partitions_.size() + 1);
  const int64_t partitions = static_cast<int64_t>(partitions_.size());
  // As many blocks as partitions, or one: either way each partition is one thread's.
  const int64_t at_once = static_cast<int64_t>(plan.keys.size()) < kKeysWorthSharing ? partitions : 1;
  pool.for_each(partitions, at_once, [&](int64_t first, int64_t last) {
    for (size_t p = static_cast<size_t>(first); p < static_cast<size_t>(last); ++p) {
      const size_t begin = plan.partition_starts[p], end = plan.partition_starts[p + 1];
      if (begin < end) body(p, begin, end);
    }
  });
}

void SparseTable::pull(const KeyPlan& plan, ThreadPool& pool, std::vector<float*>& rows) {
  rows.resize(plan.keys.size());
  for_partitions(plan, pool, [&](size_t p, size_t begin, size_t end) {
    const std::span keys(plan.keys.data() + begin, end - begin);
    const std::span<float*> found(rows.data() + begin, end - begin);
    find_rows(keys, found);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (found[i] == nullptr) {
        found[i] = create_row(partitions_[p], keys[i]);
      } else if (layout_.stamped()) {
        bring_up_to_date(found[i]);
      }
    }
  });
}

// rows[i] <- the row of keys[i], or null.  While the rows of one group are looked up, the index lines of the
// next are on their way.
void SparseTable::find_rows(std::span<const uint64_t> keys, std::span<float*> rows) const {
  struct Place {
    const TablePartition* partition;
    const KeyIndex::Bucket* bucket;
  };
  std::array<Place, 2 * kGroup> places;
  auto ask = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const TablePartition* partition = &partitions_[key_partition(keys[i], kPartitionBits)];
      const KeyIndex::Bucket* bucket = &partition->bucket(keys[i]);
      __builtin_prefetch(bucket);
      places[i % places.size()] = {partition, bucket};
    }
  };
  ask(0, std::min(kGroup, keys.size()));
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const size_t end = std::min(begin + kGroup, keys.size());
    ask(end, std::min(end + kGroup, keys.size()));
    for (size_t i = begin; i < end; ++i) {
      const Place& place = places[i % places.size()];
      rows[i] = place.partition->find(keys[i], *place.bucket);
      if (rows[i] != nullptr) layout_.prefetch(rows[i]);
    }
  }
}

void SparseTable::bring_up_to_date(float* row) const {
  optimizer_->catch_up(layout_.row(row), layout_.stamp(row), optimizer_->steps());
  layout_.set_stamp(row, optimizer_->steps());
}

float* SparseTable::create_row(TablePartition& partition, uint64_t key) {
  float* row = partition.insert(key);
  initializer_.fill(key, {row, static_cast<size_t>(width())});
  optimizer_->initialize(layout_.row(row));
  if (!layout_.stamped()) return row;
  layout_.set_stamp(row, 0);
  bring_up_to_date(row);
  return row;
}

void SparseTable::read(const KeyPlan& plan, ThreadPool& pool, std::vector<float>& copies,
                       std::vector<float*>& rows) const {
  const size_t width = static_cast<size_t>(this->width());
  copies.resize(plan.keys.size() * width);
  rows.resize(plan.keys.size());
  pool.for_each(static_cast<int64_t>(rows.size()), kKeysWorthSharing, [&](int64_t first, int64_t last) {
    const size_t begin = static_cast<size_t>(first), end = static_cast<size_t>(last);
    for (size_t n = begin; n < end; ++n) rows[n] = copies.data() + n * width;
    read_rows(std::span(plan.keys).subspan(begin, end - begin), copies.data() + begin * width);
  });
}

void SparseTable::read_rows(std::span<const uint64_t> keys, float* weights) const {
  constexpr size_t kKeysAtOnce = 256;
  std::array<float*, kKeysAtOnce> found;
  std::vector<float> scratch(static_cast<size_t>(layout_.values()));
  for (size_t begin = 0; begin < keys.size(); begin += kKeysAtOnce) {
    const size_t count = std::min(kKeysAtOnce, keys.size() - begin);
    find_rows(keys.subspan(begin, count), found);
    for (size_t i = 0; i < count; ++i) {
      read_row(keys[begin + i], found[i], scratch, weights + (begin + i) * static_cast<size_t>(width()));
    }
  }
}

// A row that time changes is read from a copy, so that reading never changes what training does next.
void SparseTable::read_row(uint64_t key, float* found, std::span<float> scratch, float* weights) const {
  if (found != nullptr && !layout_.stamped()) return optimizer_->read(layout_.row(found), weights);
  const Row<float> copy = layout_.row(scratch.data());
  if (found != nullptr) {
    std::copy_n(found, layout_.values(), scratch.data());
  } else {
    initializer_.fill(key, {copy.weight, static_cast<size_t>(width())});
    optimizer_->initialize(copy);
  }
  optimizer_->catch_up(copy, found != nullptr ? layout_.stamp(found) : 0, optimizer_->steps());
  optimizer_->read(copy, weights);
}

void SparseTable::push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
                       double learning_rate, ThreadPool& pool) {
  PS_CHECK(rows.size() == plan.keys.size());
  optimizer_->begin_step(learning_rate);
  const int64_t steps = optimizer_->steps();
  pool.for_each(static_cast<int64_t>(rows.size()), kKeysWorthSharing, [&](int64_t begin, int64_t end) {
    std::span<float* const> block(rows.data() + begin, static_cast<size_t>(end - begin));
    optimizer_->update_rows(block, width(), gradients + begin * width(), scale);
    if (!layout_.stamped()) return;
    for (float* row : block) layout_.set_stamp(row, steps);
  });
}

void SparseTable::load_row(uint64_t key, std::span<const float> weights) {
  PS_CHECK(static_cast<int64_t>(weights.size()) == width());
  TablePartition& partition = partitions_[key_partition(key, kPartitionBits)];
  float* row = partition.find(key);
  if (row == nullptr) row = partition.insert(key);
  std::copy(weights.begin(), weights.end(), row);
  optimizer_->initialize(layout_.row(row));
  if (layout_.stamped()) layout_.set_stamp(row, optimizer_->steps());
}

std::vector<uint64_t> SparseTable::sorted_keys() const {
  std::vector<uint64_t> keys;
  keys.reserve(size());
  for (const TablePartition& partition : partitions_) {
    partition.for_each_key([&](uint64_t key) { keys.push_back(key); });
  }
  sort_keys(keys);
  return keys;
}

uint64_t SparseTable::size() const {
  uint64_t rows = 0;
  for (const TablePartition& partition : partitions_) rows += partition.size();
  return rows;
}

uint64_t SparseTable::memory_bytes() const {
  uint64_t bytes = 0;
  for (const TablePartition& partition : partitions_) bytes += partition.memory_bytes();
  return bytes;
}

}  // namespace ps
