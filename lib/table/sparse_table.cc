#include "table/sparse_table.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace ps {

namespace {

// Rows of a pull or push lie anywhere in memory: how many to fetch ahead of the one in work.
constexpr size_t kPrefetchAhead = 8;

// The stamp follows a row's values; row pointers are all that push has.
uint32_t load_stamp(const RowLayout& layout, const float* row) {
  uint32_t stamp;
  std::memcpy(&stamp, row + layout.values(), sizeof stamp);
  return stamp;
}

void store_stamp(const RowLayout& layout, float* row, int64_t steps) {
  uint32_t stamp = static_cast<uint32_t>(steps);
  std::memcpy(row + layout.values(), &stamp, sizeof stamp);
}

}  // namespace

SparseTable::SparseTable(int64_t width, const Initializer& initializer,
                         std::unique_ptr<Optimizer<float>> optimizer)
    : layout_{width, optimizer->state_arrays()}, initializer_(initializer), optimizer_(std::move(optimizer)) {
  for (int p = 0; p < 1 << kPartitionBits; ++p) partitions_.emplace_back(layout_);
}

void SparseTable::pull(const KeyPlan& plan, ThreadPool& pool, std::vector<float*>& rows) {
  rows.resize(plan.keys.size());
  pool.run(static_cast<int64_t>(partitions_.size()), [&](int64_t p) {
    TablePartition& partition = partitions_[static_cast<size_t>(p)];
    for (uint32_t n = plan.partition_starts[p]; n < plan.partition_starts[p + 1]; ++n) {
      rows[n] = pull_row(partition, plan.keys[n]);
    }
  });
}

float* SparseTable::pull_row(TablePartition& partition, uint64_t key) {
  uint32_t number = partition.find(key);
  if (number == TablePartition::kNone) return create_row(partition, key);
  float* row = partition.row(number);
  if (optimizer_->idle_is_identity()) return row;
  uint32_t stamp = load_stamp(layout_, row);
  optimizer_->catch_up(layout_.row(row), stamp, optimizer_->steps());
  store_stamp(layout_, row, optimizer_->steps());
  return row;
}

float* SparseTable::create_row(TablePartition& partition, uint64_t key) {
  float* row = partition.row(partition.insert(key));
  initializer_.fill(key, {row, static_cast<size_t>(layout_.width)});
  optimizer_->initialize(layout_.row(row));
  optimizer_->catch_up(layout_.row(row), 0, optimizer_->steps());
  store_stamp(layout_, row, optimizer_->steps());
  return row;
}

void SparseTable::read(const KeyPlan& plan, ThreadPool& pool, std::vector<float>& copies,
                       std::vector<float*>& rows) const {
  size_t width = static_cast<size_t>(layout_.width);
  copies.resize(plan.keys.size() * width);
  rows.resize(plan.keys.size());
  pool.run(static_cast<int64_t>(partitions_.size()), [&](int64_t p) {
    std::vector<float> scratch;
    for (uint32_t n = plan.partition_starts[p]; n < plan.partition_starts[p + 1]; ++n) {
      rows[n] = &copies[n * width];
      read_row(plan.keys[n], rows[n], scratch);
    }
  });
}

// Works on a copy of the whole row, so that reading never changes what training does next.
void SparseTable::read_row(uint64_t key, float* weights, std::vector<float>& scratch) const {
  scratch.resize(static_cast<size_t>(layout_.values()));
  Row<float> copy = layout_.row(scratch.data());
  const TablePartition& partition = partitions_[key_partition(key, kPartitionBits)];
  uint32_t number = partition.find(key), stamp = 0;
  if (number == TablePartition::kNone) {
    initializer_.fill(key, {copy.weight, static_cast<size_t>(layout_.width)});
    optimizer_->initialize(copy);
  } else {
    std::copy_n(partition.row(number), layout_.values(), scratch.data());
    stamp = partition.stamp(number);
  }
  optimizer_->catch_up(copy, stamp, optimizer_->steps());
  optimizer_->read(copy, weights);
}

void SparseTable::push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
                       double learning_rate, ThreadPool& pool) {
  constexpr int64_t kBlock = 64;
  PS_CHECK(rows.size() == plan.keys.size());
  optimizer_->begin_step(learning_rate);
  pool.for_each(static_cast<int64_t>(rows.size()), kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      if (n + static_cast<int64_t>(kPrefetchAhead) < end) __builtin_prefetch(rows[n + kPrefetchAhead], 1);
      optimizer_->update(layout_.row(rows[n]), gradients + n * layout_.width, scale);
      store_stamp(layout_, rows[n], optimizer_->steps());
    }
  });
}

void SparseTable::load_row(uint64_t key, std::span<const float> weights) {
  PS_CHECK(static_cast<int64_t>(weights.size()) == layout_.width);
  TablePartition& partition = partitions_[key_partition(key, kPartitionBits)];
  uint32_t number = partition.find(key);
  if (number == TablePartition::kNone) number = partition.insert(key);
  Row<float> row = layout_.row(partition.row(number));
  std::copy(weights.begin(), weights.end(), row.weight);
  optimizer_->initialize(row);
  partition.set_stamp(number, static_cast<uint32_t>(optimizer_->steps()));
}

std::vector<uint64_t> SparseTable::sorted_keys() const {
  std::vector<uint64_t> keys;
  keys.reserve(size());
  for (const TablePartition& partition : partitions_) {
    for (uint32_t number = 0; number < partition.size(); ++number) keys.push_back(partition.key(number));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

void SparseTable::read_rows(std::span<const uint64_t> keys, float* weights) const {
  std::vector<float> scratch;
  for (size_t i = 0; i < keys.size(); ++i) {
    read_row(keys[i], weights + i * static_cast<size_t>(layout_.width), scratch);
  }
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
