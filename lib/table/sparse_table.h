// SparseTable: the rows of a parameter with sparse update.  A row exists from its first update on; before, it
// reads as its initial weights, brought up to date like any other row.  A policy, if there is one, decides
// when rows are created and removed.
#ifndef PS_TABLE_SPARSE_TABLE_H_
#define PS_TABLE_SPARSE_TABLE_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "table/row_policy_state.h"
#include "table/table.h"
#include "table/trained_rows.h"

namespace ps {

// Owner thread only; work is shared over the device.
class SparseTable final : public Table {
 public:
  // Keys are below `bound`, and rows are found through an array of 4 bytes for each possible key.  With bound
  // 0, which a policy or a spill requires, keys are any numbers, and rows are found through hash indexes.
  // With a `spill`, which must outlive the table, rows may be on disk: pointers that pull gives are then
  // valid until the next call other than push for any table of the spill, and only the owner thread may call
  // read_rows.
  SparseTable(int64_t width, uint64_t bound, const Initializer& initializer,
              std::unique_ptr<Optimizer<float>> optimizer,
              const std::optional<RowPolicy>& policy = std::nullopt, RowSpill* spill = nullptr);
  ~SparseTable() override;

  RowFormat format() const override;
  int64_t width() const override { return rows_.layout().width(); }
  uint64_t size() const override { return rows_.storage().size(); }
  uint64_t memory_bytes() const override;
  Optimizer<float>* optimizer() const override { return &rows_.optimizer(); }
  RowPolicyState* policy() const override { return policy_.get(); }

  void begin_step(double learning_rate) override { rows_.begin_step(learning_rate); }
  void push_part(const KeyedGradients& piece, float scale, Device& device) override {
    rows_.update(piece.keys, piece.rows, piece.gradients, scale, device);
  }
  void end_step() override { rows_.end_step(); }
  void find_again(std::span<const uint64_t> keys, Device& device, std::span<float*> rows) override {
    rows_.find_stored(keys, device, rows);
  }

  using Table::pull;
  void pull(std::span<const uint64_t> keys, Device& device, std::span<float*> rows) override;
  bool rows_stay() const override { return !policy_ && !rows_.spilled(); }
  bool spilled() const override { return rows_.spilled(); }
  void bring_up_to_date(std::span<const uint64_t> keys, std::span<float* const> rows,
                        Device& device) override {
    rows_.bring_up_to_date(keys, rows, device);
  }
  void push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
            double learning_rate, Device& device) override;
  void push(std::span<const KeyedGradients> pieces, float scale, double learning_rate,
            Device& device) override;

  void read_rows(std::span<const uint64_t> keys, float* weights) const override { rows_.read(keys, weights); }
  void read_rows(std::span<const uint64_t> keys, float* weights, Device& device) const override;
  void load_rows(std::span<const uint64_t> keys, const float* weights, Device& device) override;
  bool scan_keys(ScanCursor& cursor, std::vector<uint64_t>& keys) const override {
    return rows_.storage().scan_all(cursor, keys);
  }
  std::vector<uint64_t> sorted_keys() const override { return rows_.storage().sorted_keys(); }
  uint64_t new_row_bytes() const override { return ps::new_row_bytes(rows_.layout()); }
  size_t num_missing(std::span<const uint64_t> keys) const override { return rows_.num_missing(keys); }

  KeyLists list_keys() const override;
  void save_rows(uint32_t partition, const KeyLists& lists, size_t at_once,
                 const std::function<void(const RowBlock&)>& take) const override {
    rows_.save(partition, lists, at_once, take);
  }
  void copy_rows(std::span<const uint64_t> keys, RowBlock& rows) const override {
    rows_.copy(keys, rows);
    if (policy_) policy_->add_early(keys, rows);
  }
  uint64_t restore_rows(const RowBlock& rows, Device& device) override;
  void put_rows(const RowBlock& rows, Device& device) override;
  bool restores_partitions() const override { return !policy_ && rows_.restores_partitions(); }
  void restore_partition(uint32_t partition, const RowBlock& rows, uint64_t expected) override;

  size_t erase(std::span<const uint64_t> keys) override { return rows_.erase(keys); }

  void begin_snapshot(uint64_t max_bytes, TableSink sink) override {
    rows_.begin_snapshot(max_bytes, std::move(sink.rows));
  }
  bool sweep_snapshot(uint64_t rows) override { return rows_.sweep_snapshot(rows); }
  void end_snapshot() override { rows_.end_snapshot(); }
  bool has_snapshot() const override { return rows_.has_snapshot(); }

  TrainedRows& rows() { return rows_; }
  const TrainedRows& rows() const { return rows_; }

 private:
  TrainedRows rows_;
  std::unique_ptr<RowPolicyState> policy_;  // null: rows stay until they are erased
};

}  // namespace ps

#endif  // PS_TABLE_SPARSE_TABLE_H_
