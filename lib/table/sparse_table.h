// SparseTable: the rows of a parameter with sparse update, in partitions.  A row exists from its first update
// on; before that it reads as its initial weights, brought up to date like any other row.
#ifndef PS_TABLE_SPARSE_TABLE_H_
#define PS_TABLE_SPARSE_TABLE_H_

#include <memory>
#include <span>
#include <vector>

#include "base/huge_pages.h"
#include "base/thread_pool.h"
#include "math/initializer.h"
#include "math/key_plan.h"
#include "optim/optimizer.h"
#include "table/table_partition.h"

namespace ps {

// Owner thread only; work is shared over the pool by partitions.
class SparseTable {
 public:
  // Tables have 2^kPartitionBits partitions: enough that threads and shards share them evenly.
  static constexpr int kPartitionBits = 6;

  SparseTable(int64_t width, const Initializer& initializer, std::unique_ptr<Optimizer<float>> optimizer);

  // rows[n] <- the weights of plan.keys[n], up to date with all steps begun, to be used where they lie and
  // updated by push.  Creates rows.  The pointers are good until the table ends.
  void pull(const KeyPlan& plan, ThreadPool& pool, std::vector<float*>& rows);

  // The same for reading alone: no row is created or changed; rows[n] points into `copies`.
  void read(const KeyPlan& plan, ThreadPool& pool, std::vector<float>& copies,
            std::vector<float*>& rows) const;

  // Begins the next step, then applies gradients [N, width] to the rows that pull gave for the same plan.
  void push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
            double learning_rate, ThreadPool& pool);

  // Sets the weights of a row, as if it had just been made with them.  For models.
  void load_row(uint64_t key, std::span<const float> weights);

  // Keys of all rows, ascending.
  std::vector<uint64_t> sorted_keys() const;

  // weights [keys, width] <- what read() gives for these keys.  Any thread, while nothing changes the table.
  void read_rows(std::span<const uint64_t> keys, float* weights) const;

  int64_t width() const { return layout_.width(); }
  uint64_t size() const;
  uint64_t memory_bytes() const;

 private:
  template <class Body>
  void for_partitions(const KeyPlan& plan, ThreadPool& pool, Body&& body) const;
  void find_rows(std::span<const uint64_t> keys, std::span<float*> rows) const;
  void bring_up_to_date(float* row) const;
  float* create_row(TablePartition& partition, uint64_t key);
  void read_row(uint64_t key, float* found, std::span<float> scratch, float* weights) const;

  std::unique_ptr<Optimizer<float>> optimizer_;
  const RowLayout layout_;
  const Initializer initializer_;
  HugeArena arena_;  // of all partitions
  std::vector<TablePartition> partitions_;
};

}  // namespace ps

#endif  // PS_TABLE_SPARSE_TABLE_H_
