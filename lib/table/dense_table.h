// DenseTable: a parameter of which every step updates every weight: matrices, biases, and tables of rows
// without sparse update.
#ifndef PS_TABLE_DENSE_TABLE_H_
#define PS_TABLE_DENSE_TABLE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "math/initializer.h"
#include "table/block_cyclic.h"
#include "table/dense_values.h"
#include "table/table.h"

namespace ps {

// Keys are numbers of the parameter's rows.  Owner thread only; work is shared over the device
// by blocks of fixed size.
class DenseTable final : public Table {
 public:
  // The rows that one block-cyclic owner has of a parameter.  Without an optimizer the values are a
  // statistic, which only its layer changes.
  DenseTable(const BlockCyclicRows& blocks, int64_t cols, const Initializer& initializer,
             std::unique_ptr<Optimizer<float>> optimizer, Device& device);

  RowFormat format() const override { return {.state_arrays = values_.arrays().state_arrays()}; }
  int64_t width() const override { return values_.arrays().cols(); }
  uint64_t size() const override { return static_cast<uint64_t>(values_.arrays().rows()); }
  uint64_t memory_bytes() const override { return values_.memory_bytes(); }
  Optimizer<float>* optimizer() const override { return optimizer_.get(); }
  DenseValues* whole() override { return &values_; }
  const BlockCyclicRows* deal() const override { return &blocks_; }

  void begin_step(double learning_rate) override { values_.begin_step(learning_rate); }
  void end_step() override { values_.end_step(); }
  void push_part(const KeyedGradients&, float, Device&) override { PS_CHECK(false); }

  using Table::pull;
  void pull(std::span<const uint64_t> keys, Device& device, std::span<float*> rows) override;
  bool rows_stay() const override { return true; }
  void bring_up_to_date(std::span<const uint64_t>, std::span<float* const>, Device&) override {}

  // All other rows make a step with a gradient of zero.
  void push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
            double learning_rate, Device& device) override;
  void push(std::span<const KeyedGradients> pieces, float scale, double learning_rate,
            Device& device) override;

  using Table::read_rows;
  void read_rows(std::span<const uint64_t> keys, float* weights) const override;
  void load_rows(std::span<const uint64_t> keys, const float* weights, Device& device) override;
  bool scan_keys(ScanCursor& cursor, std::vector<uint64_t>& keys) const override;
  std::vector<uint64_t> sorted_keys() const override;
  uint64_t new_row_bytes() const override { return 0; }
  size_t num_missing(std::span<const uint64_t>) const override { return 0; }

  KeyLists list_keys() const override { return {}; }
  void save_rows(uint32_t partition, const KeyLists& lists, size_t at_once,
                 const std::function<void(const RowBlock&)>& take) const override;
  void copy_rows(std::span<const uint64_t> keys, RowBlock& rows) const override;
  uint64_t restore_rows(const RowBlock& rows, Device& device) override;

  void begin_snapshot(uint64_t, TableSink sink) override { values_.begin_snapshot(std::move(sink)); }
  bool sweep_snapshot(uint64_t rows) override { return values_.sweep_snapshot(rows); }
  void end_snapshot() override { values_.end_snapshot(); }
  bool has_snapshot() const override { return values_.has_snapshot(); }

 private:
  int64_t own_row(uint64_t key) const;
  void append_row(int64_t row, RowBlock& rows) const;

  const BlockCyclicRows blocks_;
  const std::unique_ptr<Optimizer<float>> optimizer_;
  DenseValues values_;
};

}  // namespace ps

#endif  // PS_TABLE_DENSE_TABLE_H_
