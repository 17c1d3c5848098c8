// LocalStore: the parameters in the trainer's own process, in exactly the tables that a server would use.
#ifndef PS_STORE_LOCAL_STORE_H_
#define PS_STORE_LOCAL_STORE_H_

#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "checkpoint/checkpoint_file_writer.h"
#include "checkpoint/checkpoint_reader.h"
#include "optim/clipping.h"
#include "optim/optimizer_plan.h"
#include "store/parameter_store.h"
#include "table/dense_table.h"
#include "table/sparse_table.h"

namespace ps {

class LocalStore final : public ParameterStore {
 public:
  // Throws kExhausted, before anything is allocated, when the dense parameters do not fit in `memory_limit`
  // bytes. `pool` must outlive the store.
  LocalStore(const std::vector<ParameterSpec>& parameters, const OptimizerPlan& optimizers,
             uint64_t memory_limit, ThreadPool& pool);
  ~LocalStore() override;

  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  double learning_rate() const override { return rule_.learning_rate(); }
  void end_pass(int64_t pass) override;
  std::vector<uint64_t> keys(int parameter) override;
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override;
  void read_all(int parameter, float* weights) override;
  RowReport row_report(int parameter) override;
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override;
  void load_all(int parameter, const float* weights) override;

  // All parameters with their state, and the schedule.  The rows of a partition of all sparse tables are one
  // file, all dense tables another.
  std::vector<TableLayout> layouts() const;
  std::vector<FileEntry> save(const CheckpointTarget& target) const;

  // Into a store in which nothing has been trained; after an error it is again as it was made.  Every byte
  // that it takes is checked.  Throws kUsage when the checkpoint is of other parameters, kCorrupt when it is
  // damaged.
  void restore(const CheckpointReader& reader);

  // For a trainer whose copies these are, of which servers write the checkpoints (LocalSgdCopies).  Of rows
  // that are there, as they lie: by their keys, or numbers.
  TableLayout layout(int parameter) const;
  void copy_rows(int parameter, std::span<const uint64_t> keys, RowBlock& rows) const;
  void put_rows(int parameter, const RowBlock& rows);

  // The optimizers, after so many steps.  load is for a store that has trained nothing; throws kCorrupt.
  int64_t steps() const;
  void save_optimizers(std::string& out) const;
  void load_optimizers(ByteReader& in, int64_t steps);

  // How far the schedule has come: the further of this store's and of one that was saved.  Throws kCorrupt.
  void save_schedule(std::string& out) const { rule_.save(out); }
  void advance_schedule(ByteReader& in);

  // Whether there is more to know than weights to do the next steps as they would be done here.
  bool remembers_steps() const;

 private:
  struct Holder;  // one parameter's table and buffers

  void make_tables();
  void take(const CheckpointReader& reader);
  bool any_sparse() const;
  FileEntry save_dense_tables(const CheckpointTarget& target) const;
  FileEntry save_partitions(const CheckpointTarget& target, std::span<const KeyLists> lists,
                            uint32_t partition) const;
  void push_one(Holder& holder, const KeyPlan& plan, const ParameterView<float>& view, const StepSize& step);
  std::vector<float> clipped_scales(std::span<const KeyPlan> plans,
                                    std::span<const ParameterView<float>> views, float scale);

  ThreadPool& pool_;
  const OptimizerPlan optimizers_;
  const uint64_t memory_limit_;
  const Clipping clipping_;
  StepRule rule_;
  std::vector<Holder> holders_;
};

}  // namespace ps

#endif  // PS_STORE_LOCAL_STORE_H_
