// SavedModel: a saved model, as a source of other formats.  Used by ps-ckpt2model.
#ifndef PS_JOB_SAVED_MODEL_H_
#define PS_JOB_SAVED_MODEL_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/model/model_source.h"
#include "checkpoint/model/row_names.h"
#include "checkpoint/safetensors.h"
#include "job/job.h"
#include "optim/parameter.h"

namespace ps {

// One owner thread.  Each cursor reads a part of the file in order, and checks it.
class SavedModel final : public ModelSource {
 public:
  // `path` is a model file, or a folder pass-00000, whose job.json gives the initial values of rows that were
  // never trained.  `tables` names the wanted tables, or all if it is empty.  Throws kUsage, kCorrupt.
  SavedModel(const std::string& path, const std::vector<std::string>& tables);

  const std::vector<ModelTable>& tables() const override { return tables_; }
  std::unique_ptr<RowCursor> rows(size_t table) override;
  bool knows_untrained_rows(size_t table) const override { return spec_of(tables_[table].name) != nullptr; }
  void untrained_row(size_t table, uint64_t key, float* weights) override;
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  int index_base() const override { return job_ ? job_->data.index_base : 0; }

  // Returns the names of rows, as row_names() does; `vocabulary` is a file of words, or empty for that of the
  // folder.  There are none without a job.
  RowNames names(const std::string& vocabulary) const;

  // Reads and checks every byte.
  void verify();
  const std::string& path() const { return file_.path(); }

 private:
  void read_job(const std::string& path);
  void add_table(const TensorInfo& tensor);
  bool is_counts(const std::string& name) const;
  const ParameterSpec* spec_of(const std::string& name) const;

  const std::string given_;  // the path that was given
  SafetensorsReader file_;
  std::optional<Job> job_;
  std::vector<ParameterSpec> specs_;  // parameters of the job, if it defines them
  std::vector<ModelTable> tables_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace ps

#endif  // PS_JOB_SAVED_MODEL_H_
