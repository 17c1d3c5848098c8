// LocalStore: the parameters in the trainer's own process, in exactly the tables that a server would use.
#ifndef PS_STORE_LOCAL_STORE_H_
#define PS_STORE_LOCAL_STORE_H_

#include <span>
#include <vector>

#include "math/device.h"
#include "store/gradient_scales.h"
#include "store/parameter_store.h"
#include "store/parameter_tables.h"
#include "store/row_lender.h"

namespace ps {

// One owner thread.
class LocalStore final : public ParameterStore, public RowLender {
 public:
  // Throws kExhausted, before anything is allocated, if the dense parameters do not fit into `memory_limit`
  // bytes.  `device` must outlive the store.
  LocalStore(const std::vector<ParameterSpec>& parameters, const OptimizerPlan& optimizers,
             uint64_t memory_limit, Device& device);

  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  // A parameter whose view has no gradient does not change: its optimizer makes no step.
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;

  // Clipping by norm, for stores that have only some of the parameters here.
  GradientScales& scales() { return scales_; }

  double learning_rate() const override { return rule_.learning_rate(); }
  void end_pass(int64_t pass) override;
  std::vector<uint64_t> keys(int parameter) override;
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override;
  void read_all(int parameter, float* weights) override;
  RowReport row_report(int parameter) override;
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override;
  void load_all(int parameter, const float* weights) override;

  // Writes all parameters with their state, and the schedule, as ParameterTables::save does.
  std::vector<FileEntry> save(const CheckpointTarget& target) const;

  // Restores a store in which nothing has been trained; after an error it is as it was made.  Throws as
  // ParameterTables::restore does.
  void restore(const CheckpointReader& reader);

  const ParameterTables& tables() const { return tables_; }

  // Returns the level of instruction sets of its kernels, for other code that must compute the same bits.
  CpuLevel cpu() const { return device_.cpu(); }

  // Returns the weights [rows, cols] of a dense parameter as they are trained; they may be changed in place.
  std::span<float> whole(int parameter);

  // For caches on a device.  Single rows are also for a trainer with copies of its own, whose checkpoints
  // servers write (LocalSgdCopies).
  void lend_rows(int parameter, RowBorrower& borrower) override;

  // The same for all of a dense parameter: from a pull to train on, the borrower trains it, by copy_stored
  // and set_stored.  A parameter can be lent unless its gradient is clipped by norm.
  bool can_lend_dense(int parameter) const;
  void lend_dense(int parameter, RowBorrower& borrower);

  // Makes borrowers put back what they have trained.  Must be called before a copy_stored by anything but a
  // borrower.
  void put_back() const;

  bool has_rows_put_back() const override { return true; }
  bool reads_gradients(int parameter) const override {
    return scales_.reads_gradient(static_cast<size_t>(parameter));
  }
  const Optimizer<float>& optimizer(int parameter) const override { return *table(parameter).optimizer(); }
  float last_scale(int parameter) const override { return loans_[static_cast<size_t>(parameter)].scale; }
  std::vector<uint64_t> absent(int parameter, std::span<const uint64_t> keys) override;
  void fetch_rows(int parameter, std::span<const uint64_t> keys, float* rows) override;
  TableLayout layout(int parameter) const override { return tables_.layout(static_cast<size_t>(parameter)); }
  void copy_rows(int parameter, std::span<const uint64_t> keys, RowBlock& rows) const;
  void fetch_stored(int parameter, std::span<const uint64_t> keys, RowBlock& rows) override {
    table(parameter).copy_rows(keys, rows);
  }
  void put_rows(int parameter, const RowBlock& rows) override { table(parameter).put_rows(rows, device_); }

  // All floats of a dense parameter: weights [rows, cols], then state arrays of the same shape.
  void copy_stored(int parameter, std::vector<float>& floats) const;
  void set_stored(int parameter, std::span<const float> floats);

  // The progress of the schedule.  It counts all steps that were pushed, unless a store in front of this one
  // sets it otherwise.
  const StepRule& schedule() const { return rule_; }
  StepRule& schedule() { return rule_; }

  // Returns true if the next steps depend on other state than the weights.
  bool remembers_steps() const;

 private:
  // The buffers of one parameter to which views point until the next pull.
  struct Buffers {
    std::vector<float*> rows;      // rows of the last pull, for a parameter reached by ids
    std::vector<float> copies;     // weights that a kRead pull returns
    std::vector<float> gradients;  // [N, cols] or [rows, cols]
  };

  // A parameter that a borrower trains.
  struct Loan {
    RowBorrower* borrower = nullptr;  // null: it is trained here
    float scale = 1;                  // factor of the gradients in the last push
  };

  Table& table(int parameter) const { return *tables_.table(static_cast<size_t>(parameter)); }
  void pull_rows(size_t parameter, const KeyPlan& plan, PullMode mode, ParameterView<float>& view);
  void pull_all(size_t parameter, PullMode mode, ParameterView<float>& view);
  void push_one(size_t parameter, const KeyPlan& plan, const ParameterView<float>& view,
                const StepSize& step);

  Device& device_;
  const OptimizerPlan optimizers_;
  StepRule rule_;
  ParameterTables tables_;
  GradientScales scales_;
  std::vector<Buffers> buffers_;  // by parameter
  std::vector<Loan> loans_;       // by parameter
};

}  // namespace ps

#endif  // PS_STORE_LOCAL_STORE_H_
