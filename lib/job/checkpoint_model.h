// CheckpointModel: the weights of a checkpoint as a model: rows in the order of their keys, brought up to date.
// Used by ps-ckpt2model, and by jobs that start from a checkpoint.
#ifndef PS_JOB_CHECKPOINT_MODEL_H_
#define PS_JOB_CHECKPOINT_MODEL_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/model/model_source.h"
#include "checkpoint/model/row_names.h"
#include "job/job.h"
#include "job/row_choice.h"
#include "optim/optimizer.h"
#include "optim/parameter.h"

namespace ps {

// One owner thread.  `reader` must outlive it.
class CheckpointModel final : public ModelSource {
 public:
  // `cpu` is the level of the loops that bring rows up to date; all levels give the same bits.  Throws kUsage
  // for tables that do not exist, kCorrupt if the checkpoint is damaged.
  CheckpointModel(const CheckpointReader& reader, const RowChoice& choice, CpuLevel cpu = best_cpu_level());
  ~CheckpointModel() override;

  const std::vector<ModelTable>& tables() const override { return tables_; }
  std::unique_ptr<RowCursor> rows(size_t table) override;
  bool knows_untrained_rows(size_t) const override { return true; }
  void untrained_row(size_t table, uint64_t key, float* weights) override;
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  int index_base() const override;

  // Returns the names of rows, as row_names() does; `vocabulary` is a file of words, or empty for the one that
  // the job names.
  RowNames names(const std::string& vocabulary) const;

  // Removes the step from the metadata.
  void leave_out_step() { metadata_.erase("step"); }

 private:
  struct Table;

  void add_table(const TableLayout& layout, const ParameterSpec& spec,
                 std::unique_ptr<Optimizer<float>> optimizer);
  void check_choice() const;
  uint64_t count_rows(size_t table);

  const CheckpointReader& reader_;
  const RowChoice choice_;
  const CpuLevel cpu_;
  Job job_;
  std::vector<Table> held_;
  std::vector<ModelTable> tables_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace ps

#endif  // PS_JOB_CHECKPOINT_MODEL_H_
