// SparseTable: the rows of a parameter with sparse update.  A row exists from its first update on; before
// that it reads as its initial weights, brought up to date like any other row.  With a policy rows come and
// go as that says.
#ifndef PS_TABLE_SPARSE_TABLE_H_
#define PS_TABLE_SPARSE_TABLE_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "math/initializer.h"
#include "math/key_plan.h"
#include "optim/optimizer.h"
#include "optim/row_policy.h"
#include "table/row_block.h"
#include "table/row_layout.h"
#include "table/row_store.h"
#include "table/sparse_snapshot.h"

namespace ps {

// Owner thread only; work is shared over the pool.
class SparseTable {
 public:
  // Keys are below `bound`, and reached through an array of 4 bytes for each that there may be; or any keys,
  // through hash indexes, when it is 0, as it is with a policy and with a spill.  With a `spill`, which
  // must outlive the table, rows may be on disk: what pull gives is then good until the next call for any
  // table of the spill but push, and read_rows is for the owner thread alone.
  SparseTable(int64_t width, uint64_t bound, const Initializer& initializer,
              std::unique_ptr<Optimizer<float>> optimizer,
              const std::optional<RowPolicy>& policy = std::nullopt, RowSpill* spill = nullptr);
  ~SparseTable();

  // rows[n] <- the weights of plan.keys[n], up to date with all steps begun, to be used where they lie and
  // updated by push.  Creates rows.  The pointers are good until the row is erased.
  //
  // With a policy no row is created before push: what a key without one reads as is good until the next pull.
  void pull(const KeyPlan& plan, ThreadPool& pool, std::vector<float*>& rows);
  void pull(std::span<const uint64_t> keys, ThreadPool& pool, std::span<float*> rows);

  // Whether nothing but erase() takes a row away from where it is: neither a policy nor a spill.
  bool rows_stay() const { return rows_stay_; }

  // As pull, of rows that it gave before, and that have stayed.
  void bring_up_to_date(std::span<const uint64_t> keys, std::span<float* const> rows, ThreadPool& pool);

  // The same as pull for reading alone: no row is created or changed; rows[n] points into `copies`.
  void read(const KeyPlan& plan, ThreadPool& pool, std::vector<float>& copies,
            std::vector<float*>& rows) const;

  // Begins the next step, then applies gradients [N, width] to the rows that pull gave for the same plan.
  // With a policy, plan.counts are taken note of, rows are made, and gradients of keys without one dropped.
  void push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
            double learning_rate, ThreadPool& pool);

  // The same of rows here and there, each once; not for a table with a policy.
  struct GradientPiece {
    std::span<const uint64_t> keys;
    std::span<float* const> rows;  // as pull gave them
    const float* gradients;        // [keys, width]
  };
  void push(std::span<const GradientPiece> pieces, float scale, double learning_rate, ThreadPool& pool);

  // After a step and at the end of a pass: judges the rows, when the policy says so or the step asked for it.
  void end_step(bool shrink_asked, ThreadPool& pool) {
    if (life_) shrink_after_step(shrink_asked, pool);
  }
  void end_pass(int64_t pass, ThreadPool& pool);

  bool has_policy() const { return life_ != nullptr; }

  // What a policy keeps beside the rows, to and from checkpoints: after the rows were restored, of those
  // partitions that are `mine`, what a table saved that had them among others.  load_policy returns what came
  // of the policy there, of which set_report gives this table its part; it throws kCorrupt.
  using ChoosePartition = std::function<bool(uint32_t partition)>;
  void save_policy(std::string& out) const;
  RowReport load_policy(ByteReader& in, const ChoosePartition& mine);
  void set_report(const RowReport& report);
  RowReport report() const;

  // Sets the weights [keys, width] of rows, as if they had just been made with them.  For models.
  void load_rows(std::span<const uint64_t> keys, const float* weights, ThreadPool& pool);

  // Removes rows; those keys that have one then read as if they never had one.  Returns how many they were.
  // Pointers to other rows stay good.
  size_t erase(std::span<const uint64_t> keys);

  // Calls body(key, row) for the rows of one of the partitions of table_partition.h, in no order that means
  // anything: rows as they lie, in the layout of layout(), not brought up to date.  It may write the row, but
  // not the table.
  template <class Body>
  void for_each_row(uint32_t partition, Body&& body) {
    auto prepare = [this](std::span<const uint64_t> keys) {
      rows_->fetch(keys);
      about_to_write(keys);
    };
    rows_->for_each_row(partition, prepare, body);
  }

  // The same for reading alone.
  template <class Body>
  void for_each_row(uint32_t partition, Body&& body) const {
    auto read = [&](uint64_t key, const float* row) { body(key, row); };
    rows_->for_each_row(
        partition, [](std::span<const uint64_t>) {}, read);
  }

  // From now on remembers which rows change and which are erased, for snapshots of what changed.  It costs 1
  // bit a row, and a look-up for each row that is written.
  void track_changes() { tracks_changes_ = true; }

  // Begins a snapshot of all rows; or of those that changed since the last such one began.  If that came to
  // nothing, the next must be of all.  The table goes on, and its writers keep what they overwrite; they too
  // may call the sink.  None may be running.
  void begin_snapshot(const SnapshotOptions& options, SnapshotSink sink);

  // Of the running snapshot: gives out some `rows` of it; false when it is done, and then it has ended.
  bool sweep_snapshot(uint64_t rows);
  void end_snapshot() { snapshot_.reset(); }
  bool has_snapshot() const { return snapshot_ != nullptr; }

  // Keys of rows that were erased before the last snapshot of what changed, since that of all rows before it:
  // in the order of time; some may have a row again.
  std::span<const uint64_t> erased_keys() const { return std::span(erased_).first(erased_before_); }

  // Sets rows, as a snapshot or save_rows gave them.
  void restore_rows(const RowBlock& rows, ThreadPool& pool);

  // The same for rows of one partition, none of which is there yet, and of which `expected` will come: any
  // threads, each with partitions of its own.  Only where restores_partitions().
  void restore_partition(uint32_t partition, const RowBlock& rows, uint64_t expected);
  bool restores_partitions() const;

  // Calls take(rows) with the rows of one partition as they lie, in the order of their keys, up to `at_once`
  // in a block: for checkpoints.  Any thread, while nothing changes the table since `lists` were made of it;
  // with a spill, the owner's.
  void save_rows(uint32_t partition, const KeyLists& lists, size_t at_once,
                 const std::function<void(const RowBlock&)>& take) const;

  // rows <- those of some keys, each of which has one, likewise.
  void copy_rows(std::span<const uint64_t> keys, RowBlock& rows) const;

  // The keys of those partitions that are not found without them.
  KeyLists list_keys() const;

  const Optimizer<float>& optimizer() const { return *optimizer_; }
  Optimizer<float>& optimizer() { return *optimizer_; }

  // Keys of all rows, ascending.
  std::vector<uint64_t> sorted_keys() const { return rows_->sorted_keys(); }

  // Some of them, as RowStore::scan_all gives them.
  bool scan_keys(ScanCursor& cursor, std::vector<uint64_t>& keys) const {
    return rows_->scan_all(cursor, keys);
  }

  // weights [keys, width] <- what read() gives for these keys.  Any thread, while nothing changes the table.
  void read_rows(std::span<const uint64_t> keys, float* weights) const;

  // How many of these keys have no row.  Any thread, while nothing changes the table.
  size_t num_missing(std::span<const uint64_t> keys) const;

  // What one more row takes, with its part of the index.
  uint64_t row_bytes() const { return static_cast<uint64_t>(layout_.stride()) * sizeof(float) + kIndexBytes; }

  int64_t width() const { return layout_.width(); }
  const RowLayout& layout() const { return layout_; }
  uint64_t size() const { return rows_->size(); }
  uint64_t memory_bytes() const;

 private:
  static constexpr uint64_t kIndexBytes = 24;  // a row, at most

  struct RowPolicyState;  // what a policy needs
  struct Candidate;       // for a row

  // To be called before the rows of these keys are written.
  void about_to_write(std::span<const uint64_t> keys) {
    if (snapshot_) snapshot_->keep(keys);
    if (tracks_changes_) rows_->mark(keys);
  }
  // body(block, first): writes these rows, which begin with rows[first].
  template <class Body>
  void write_rows(std::span<const uint64_t> keys, std::span<float* const> rows, ThreadPool& pool,
                  Body&& body);
  void update(std::span<const uint64_t> keys, std::span<float* const> rows, const float* gradients,
              float scale, ThreadPool& pool);
  void pull_some(std::span<const uint64_t> keys, std::span<float*> rows, ThreadPool& pool);
  void push_some(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
                 double learning_rate, ThreadPool& pool);
  void train_rows(const KeyPlan& plan, const float* gradients, float scale, ThreadPool& pool);
  void create_admitted(ThreadPool& pool);
  void create_candidates(std::vector<Candidate>& candidates, bool caught_up, ThreadPool& pool);
  void refuse_surplus(std::vector<Candidate>& candidates);
  void evict_surplus(ThreadPool& pool);
  std::vector<uint64_t> keys_of(uint32_t partition, const KeyLists& lists) const;
  std::vector<uint64_t> least_valuable(uint32_t partition, size_t count) const;
  void shrink_after_step(bool asked, ThreadPool& pool);
  void shrink(ThreadPool& pool);
  std::vector<uint64_t> age_partition(uint32_t partition);
  void note_created(std::span<const uint64_t> keys);
  void note_gone(std::span<const uint64_t> keys);
  template <class Body>
  void for_each_partition(ThreadPool& pool, Body&& body);
  void fill_initial(uint64_t key, const Row<float>& row) const;

  size_t find_all(std::span<const uint64_t> keys, std::span<float*> rows, ThreadPool& pool);
  void find_or_create(std::span<const uint64_t> keys, std::span<float*> rows, ThreadPool& pool);
  size_t find(std::span<const uint64_t> keys, std::span<float*> rows, uint32_t* missing) const;
  void create_missing(std::span<const uint64_t> keys, size_t count, std::span<float*> rows, ThreadPool& pool);
  void insert_new_rows(ThreadPool& pool);
  void bring_up_to_date(float* row) const;
  void start_row(uint64_t key, float* row) const;
  void read_row(uint64_t key, float* found, std::span<float> scratch, float* weights) const;

  std::unique_ptr<Optimizer<float>> optimizer_;
  const RowLayout layout_;
  const Initializer initializer_;
  const int64_t block_;  // rows that are one thread's at a time
  const bool spilled_, rows_stay_;
  std::unique_ptr<RowStore> rows_;
  std::unique_ptr<RowPolicyState> life_;  // null: no policy

  std::unique_ptr<SparseSnapshot> snapshot_;  // the running one
  bool tracks_changes_ = false;
  std::vector<uint64_t> erased_;  // since the last snapshot of all rows began
  size_t erased_before_ = 0;      // of erased_: before the last snapshot

  // Of the running pull: the places of keys without a row.  While they are looked for, block i of the keys
  // has block_missing_[i] of them in missing_ from i block_ on.
  std::vector<uint32_t> missing_;
  std::vector<size_t> block_missing_;
  std::vector<uint64_t> new_keys_;
  std::vector<float*> new_rows_;
};

// How many shrinks there had been, from the beginning of what save_policy appended.
uint64_t saved_shrinks(ByteReader& in);

}  // namespace ps

#endif  // PS_TABLE_SPARSE_TABLE_H_
