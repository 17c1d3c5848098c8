#include "table/sparse_table.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

SparseTable::SparseTable(int64_t width, uint64_t bound, const Initializer& initializer,
                         std::unique_ptr<Optimizer<float>> optimizer, const std::optional<RowPolicy>& policy,
                         RowSpill* spill)
    : rows_(width, bound, initializer, std::move(optimizer), policy, spill) {
  if (policy) policy_ = std::make_unique<RowPolicyState>(*policy, initializer.seed, rows_);
}

SparseTable::~SparseTable() = default;

RowFormat SparseTable::format() const {
  const RowLayout& layout = rows_.layout();
  return {.sparse = true,
          .state_arrays = static_cast<int>(layout.values() / layout.width()) - 1,
          .stamped = layout.stamped(),
          .statistics = layout.statistics()};
}

uint64_t SparseTable::memory_bytes() const {
  return rows_.memory_bytes() + (policy_ ? policy_->memory_bytes() : 0);
}

void SparseTable::pull(std::span<const uint64_t> keys, Device& device, std::span<float*> rows) {
  if (policy_) return policy_->pull(keys, device, rows);
  rows_.find_or_create(keys, device, rows);
}

void SparseTable::push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
                       double learning_rate, Device& device) {
  PS_CHECK(rows.size() == plan.keys.size());
  if (policy_) return policy_->push(plan, rows, gradients, scale, learning_rate, device);
  const KeyedGradients piece{plan.keys, rows, gradients};
  push({&piece, 1}, scale, learning_rate, device);
}

// All pieces are of one step, so the optimizer begins it once; no row is in two pieces.
void SparseTable::push(std::span<const KeyedGradients> pieces, float scale, double learning_rate,
                       Device& device) {
  PS_CHECK(!policy_);
  rows_.optimizer().begin_step(learning_rate);
  for (const KeyedGradients& piece : pieces)
    rows_.update(piece.keys, piece.rows, piece.gradients, scale, device);
}

// Only the owner thread may read rows on disk, so with a spill one thread reads all rows.
void SparseTable::read_rows(std::span<const uint64_t> keys, float* weights, Device& device) const {
  const int64_t size = static_cast<int64_t>(keys.size());
  const int64_t at_once = rows_.spilled() ? std::max<int64_t>(size, 1) : rows_.rows_at_once();
  device.for_each(size, at_once, [&](int64_t first, int64_t last) {
    rows_.read(keys.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first)),
               weights + first * width());
  });
}

void SparseTable::load_rows(std::span<const uint64_t> keys, const float* weights, Device& device) {
  const size_t created = rows_.load(keys, weights, device);
  if (policy_) policy_->note_created(created);
}

// Rows in an array are scanned once for all partitions, not once for each.
KeyLists SparseTable::list_keys() const {
  if (rows_.storage().scans_partitions()) return {};
  KeyLists lists(0, kPartitions);
  while (lists.look(rows_.storage())) continue;
  return lists;
}

uint64_t SparseTable::restore_rows(const RowBlock& rows, Device& device) {
  const size_t created = rows_.restore(rows, device);
  if (policy_) policy_->note_created(created);
  return rows.size();
}

void SparseTable::put_rows(const RowBlock& rows, Device& device) {
  policy_ ? policy_->put_rows(rows, device) : static_cast<void>(restore_rows(rows, device));
}

void SparseTable::restore_partition(uint32_t partition, const RowBlock& rows, uint64_t expected) {
  PS_CHECK(restores_partitions());
  rows_.restore_partition(partition, rows, expected);
}

}  // namespace ps
