// RowValues: computes the values of single rows of a sparse table: the values of a new row, and those of a
// row that has not seen the last steps.  Used by TrainedRows, which finds the rows, and by RowPolicyState,
// which decides when they begin.
#ifndef PS_TABLE_ROW_VALUES_H_
#define PS_TABLE_ROW_VALUES_H_

#include <algorithm>
#include <span>

#include "math/initializer.h"
#include "optim/optimizer.h"
#include "table/row_layout.h"

namespace ps {

// Any thread may use it while no step begins; different threads must work on different rows.  The optimizer
// and the layout outlive it.
class RowValues {
 public:
  RowValues(const Optimizer<float>& optimizer, const RowLayout& layout, const Initializer& initializer)
      : optimizer_(optimizer), layout_(layout), initializer_(initializer) {}

  // Fill a new row. start: as if it had existed from the first step on. start_now: as if it had seen all
  // steps begun, and none had changed it.
  void start(uint64_t key, float* row) const {
    fill(key, layout_.row(row));
    if (layout_.has_history()) layout_.set_history(row, {});
    if (!layout_.stamped()) return;
    layout_.set_stamp(row, 0);
    bring_up_to_date(row);
  }
  void start_now(uint64_t key, float* row) const {
    fill(key, layout_.row(row));
    if (layout_.has_history()) layout_.set_history(row, {});
    if (layout_.stamped()) layout_.set_stamp(row, optimizer_.steps());
  }

  // values [layout.values()] <- the weights and the state that start writes.
  void initial_values(uint64_t key, float* values) const {
    const Row<float> row = layout_.row(values);
    fill(key, row);
    if (layout_.stamped()) optimizer_.catch_up(row, 0, optimizer_.steps());
  }

  // Sets the weights and the optimizer's state of a row that no step has seen.
  void fill(uint64_t key, const Row<float>& row) const {
    initializer_.fill(key, {row.weight, static_cast<size_t>(layout_.width())}, optimizer_.cpu());
    optimizer_.initialize(row);
  }

  // Applies to a stamped row the steps that it has not seen, as steps without a gradient.
  void bring_up_to_date(float* row) const {
    optimizer_.catch_up(layout_.row(row), layout_.stamp(row), optimizer_.steps());
    layout_.set_stamp(row, optimizer_.steps());
  }

 private:
  const Optimizer<float>& optimizer_;
  const RowLayout& layout_;
  const Initializer initializer_;
};

}  // namespace ps

#endif  // PS_TABLE_ROW_VALUES_H_
