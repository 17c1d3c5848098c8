// RowPolicyState: makes and removes the rows of a sparse table by a policy.  A key gets a row by admission or
// by its first gradient, and loses it when it has expired at a shrink or when the table is full.  Used by
// SparseTable, by the stores that end steps and passes, and by checkpoints.
#ifndef PS_TABLE_ROW_POLICY_STATE_H_
#define PS_TABLE_ROW_POLICY_STATE_H_

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "math/device.h"
#include "math/key_plan.h"
#include "optim/row_policy.h"
#include "table/key_admission.h"
#include "table/row_removal.h"
#include "table/table_partition.h"
#include "table/trained_rows.h"

namespace ps {

// Gradients of some keys, with their counts.
struct CountedGradients {
  std::span<const uint64_t> keys;
  std::span<const KeyCount> counts;  // by key
  const float* gradients;            // [keys, width]; null: a borrower trains the rows
};

// Decisions depend neither on the order of keys in a plan nor on the set of partitions that the table has:
// each partition decides on its own rows, by keys, histories and steps.  Owner thread only; the rows must
// outlive it.
class RowPolicyState {
 public:
  // `seed` depends on the job and the table.
  RowPolicyState(const RowPolicy& policy, uint64_t seed, TrainedRows& rows);

  // Implement Table::pull and Table::push.
  void pull(std::span<const uint64_t> keys, Device& device, std::span<float*> rows);
  void push(const KeyPlan& plan, std::span<float* const> rows, const float* gradients, float scale,
            double learning_rate, Device& device);

  // The same for rows whose values a borrower trains: push_counts makes all decisions of a push and adds the
  // counts, but applies no gradient. put_rows sets weights, state and stamps of those keys that have a row.
  void push_counts(const KeyPlan& plan, double learning_rate, Device& device);
  void put_rows(const RowBlock& block, Device& device);

  // A step in parts: the same as push, but in several calls, between which rows may be read.  A part has other
  // keys than those before it, and larger ones.  First, find_part for every part, then begin_step, then
  // train_part for every part, and end_parts; last, removal().go_on until there is no more to do.
  //
  // find_part: rows[n] <- the row of keys[n], or null; makes rows for those without, if there is no admission.
  // Rows on disk have to be found again for train_part.  If rows have no stamps, find_part may also come when
  // the step has begun.  A part that a borrower trains is found as it is stored.
  void find_part(std::span<const uint64_t> keys, bool borrowed, Device& device, std::span<float*> rows);
  void train_part(const CountedGradients& part, std::span<float*> rows, float scale, Device& device);
  void end_parts(bool shrink_asked);
  RowRemoval& removal() { return removal_; }

  // Returns the keys that are held for the next step, with their counts, if it has none itself; nothing
  // otherwise.
  KeyPlan release_held();

  // For a borrower on another machine, which tells keys and counts before the push. hold_counts holds keys,
  // which ascend, for the next push, which has none itself and then is a push_counts of all that are held; a key
  // that comes again replaces its count.  Rows that put_rows gets meanwhile for held keys without a row are kept:
  // they are the values of those rows that the push makes. add_early adds them to a block of rows of these keys,
  // which ascend. forget_held drops all that is held.
  void hold_counts(std::span<const uint64_t> keys, std::span<const KeyCount> counts);
  void add_early(std::span<const uint64_t> keys, RowBlock& block) const;
  void forget_held();

  // Returns those keys that have no row, in the given order.
  std::vector<uint64_t> absent(std::span<const uint64_t> keys, Device& device);

  // To be called after a step and at the end of a pass.  Shrinks the table if the policy says so, or if the
  // step asked for it; but not twice without a step between.
  void end_step(bool shrink_asked, Device& device);
  void end_pass(int64_t pass, Device& device);

  // Plans the shrink with which end_pass ends, for removal().
  void plan_end_of_pass(int64_t pass);

  // Counts rows that a model or a checkpoint has made.
  void note_created(size_t rows) { report_.created += rows; }

  // save writes the policy's state beside the rows to a checkpoint. load reads it after the rows were
  // restored: it keeps the partitions for which `mine` returns true, and returns the saved report; it throws
  // kCorrupt. set_report then sets this table's share of all saved reports.
  using ChoosePartition = std::function<bool(uint32_t partition)>;
  void save(std::string& out) const;
  RowReport load(ByteReader& in, const ChoosePartition& mine);
  void set_report(const RowReport& report) { report_ = report; }

  // Returns the report with the present numbers of rows and waiting keys.
  RowReport report() const;

  uint64_t memory_bytes() const;

 private:
  // A key of the running step without a row.
  struct Candidate {
    uint64_t key;
    uint32_t position;  // index into the keys
    KeyCount count;     // the history of its row, if it gets one
  };

  // A row that came before the step that makes it.
  struct EarlyRow {
    std::vector<float> values;  // weights and state
    uint32_t stamp = 0;
  };

  // Returns true for a pointer to a stand-in, which pull gave for a key without a row.
  bool is_stand_in(const float* row) const {
    return row >= stand_ins_.data() && row < stand_ins_.data() + stand_ins_.size();
  }

  void make_step(const KeyPlan& plan, const float* gradients, float scale, double learning_rate,
                 Device& device);
  void end_training();
  void train(const CountedGradients& part, std::span<float* const> rows, float scale, Device& device);
  void list_absent(std::span<const uint64_t> keys, std::span<const KeyCount> counts,
                   std::span<float* const> rows);
  void create_now(std::span<const uint64_t> keys, std::span<float*> rows, Device& device);
  void use_early(uint64_t key, float* row) const;
  bool is_held(uint64_t key) const;
  void merge_held(std::span<const uint64_t> keys, std::span<const KeyCount> counts);
  KeyPlan take_held();
  void save_held(std::string& out) const;
  void load_held(ByteReader& in, const ChoosePartition& mine);
  void create_admitted(Device& device);
  void insert_absent(Device& device);
  void refuse_surplus();
  void plan_end_of_step(bool shrink_asked);
  void plan_shrink();

  const RowPolicy policy_;
  TrainedRows& rows_;
  std::optional<KeyAdmission> admission_;
  RowReport report_;       // without the present numbers of rows and waiting keys
  uint64_t shrinks_ = 0;   // number of shrinks so far
  int64_t shrunk_at_ = 0;  // steps before the last shrink; 0: before any step there is nothing to shrink
  RowRemoval removal_;

  // Between two steps: keys for the step after held_at_ steps, with their counts; rows that came early, by key.
  KeyPlan held_;
  uint64_t held_without_row_ = 0;  // number of held keys that had no row when they came
  int64_t held_at_ = 0;
  std::map<uint64_t, EarlyRow> early_;

  // During a step.
  std::vector<float> stand_ins_;   // weights and state that pull gives for keys without a row
  std::vector<float*> trained_;    // rows of the plan's keys; null: the key has no row
  std::vector<Candidate> absent_;  // keys without a row, of a part
  std::vector<uint64_t> new_keys_;
  std::vector<float*> new_rows_;  // the rows of new_keys_
};

// Reads the number of shrinks from the beginning of the bytes that RowPolicyState::save has appended.
uint64_t saved_shrinks(ByteReader& in);

}  // namespace ps

#endif  // PS_TABLE_ROW_POLICY_STATE_H_
