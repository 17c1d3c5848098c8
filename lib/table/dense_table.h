// DenseTable: a parameter that is held and trained whole: matrices, biases, and rows reached by ids without
// sparse update.  Each step moves every weight.
#ifndef PS_TABLE_DENSE_TABLE_H_
#define PS_TABLE_DENSE_TABLE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "math/initializer.h"
#include "math/key_plan.h"
#include "optim/optimizer.h"
#include "table/block_cyclic.h"
#include "table/dense_snapshot.h"

namespace ps {

// Owner thread only; work is shared over the pool by blocks of fixed size.
class DenseTable {
 public:
  // Without an optimizer the values are a statistic, which only its layer moves.
  DenseTable(int64_t rows, int64_t cols, const Initializer& initializer,
             std::unique_ptr<Optimizer<float>> optimizer, ThreadPool& pool);

  // The rows that one holder has of a parameter; all numbers of rows below are its own.
  DenseTable(const BlockCyclicRows& deal, int64_t cols, const Initializer& initializer,
             std::unique_ptr<Optimizer<float>> optimizer, ThreadPool& pool);

  // Bytes that a table of this shape will hold.
  static uint64_t bytes_needed(int64_t rows, int64_t cols, int state_arrays);

  // To be read and written: a running snapshot takes it for a write.
  float* values();
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  uint64_t memory_bytes() const;

  // One step with gradient [rows, cols].
  void push(const float* gradient, float scale, double learning_rate, ThreadPool& pool);

  // rows[n] <- the weights of row plan.keys[n], where they lie.
  void pull_rows(const KeyPlan& plan, std::vector<float*>& rows);

  // The same for reading alone: rows[n] points into `copies`.
  void read_rows(const KeyPlan& plan, std::vector<float>& copies, std::vector<float*>& rows) const;

  // One step with gradients [N, cols] of the plan's rows, and zero for all others.
  void push_rows(const KeyPlan& plan, const float* gradients, float scale, double learning_rate,
                 ThreadPool& pool);

  // out [rows, cols] <- the weights to test and save with.  out may be values().
  void read(float* out, ThreadPool& pool) const;

  // The same of rows [first, first + count).
  void read_range(int64_t first, int64_t count, float* out) const;

  // values [count, cols (1 + state arrays)] <- rows as they lie, weights and then state; and back: for
  // checkpoints.
  void save_rows(int64_t first, int64_t count, std::vector<float>& values) const;
  void restore_row(int64_t row, const float* values);

  int state_arrays() const { return optimizer_ ? optimizer_->state_arrays() : 0; }
  const Optimizer<float>* optimizer() const { return optimizer_.get(); }  // null: none
  Optimizer<float>* optimizer() { return optimizer_.get(); }

  // After values() were overwritten from a model: all of them, or those of rows [first, first + count).
  void reset_state(ThreadPool& pool);
  void reset_range(int64_t first, int64_t count);

  // Floats of weights and state, in the order in which a snapshot gives them.
  uint64_t floats() const;

  // Begins a snapshot of them; then as of a SparseTable.  What is left when the table is written next is
  // copied, up to max_bytes of it.
  void begin_snapshot(uint64_t max_bytes, DenseSink sink);
  bool sweep_snapshot(uint64_t floats);
  void end_snapshot() { snapshot_.reset(); }
  bool has_snapshot() const { return snapshot_ != nullptr; }

  // Sets floats from `first` on, as a snapshot gave them.
  void restore(uint64_t first, std::span<const float> floats);

 private:
  void about_to_write() {
    if (snapshot_) snapshot_->keep();
  }
  Row<float> block(int64_t begin, int64_t end) const;
  int64_t size() const { return rows_ * cols_; }

  const int64_t rows_, cols_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  std::unique_ptr<float[]> values_, state_;  // [rows, cols], [state arrays, rows, cols]
  std::unique_ptr<DenseSnapshot> snapshot_;  // the running one
};

}  // namespace ps

#endif  // PS_TABLE_DENSE_TABLE_H_
