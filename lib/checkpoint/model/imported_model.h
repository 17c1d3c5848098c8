// ImportedModel: the tensors of a safetensors file of another program under names of a job.  Used by ps-ckpt2model.
#ifndef PS_CHECKPOINT_MODEL_IMPORTED_MODEL_H_
#define PS_CHECKPOINT_MODEL_IMPORTED_MODEL_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/model/model_source.h"
#include "checkpoint/safetensors.h"

namespace ps {

// One imported tensor: `theirs` is its name in the file, or that name and ".T" for its transpose; `ours` a
// parameter, or NAME.keys and NAME.rows for the ids of a sparse one and their rows.
struct NamePair {
  std::string theirs, ours;
};

// The pairs of `entries`, each "THEIRS=OURS", or the path of a file with one such line for each tensor; lines that are
// empty or begin with # count for nothing.  Throws kUsage.
std::vector<NamePair> parse_name_pairs(const std::vector<std::string>& entries);

// Owner thread only.  Tables are in the order of their pairs.  Ids may be of any integer type of 32 or 64 bits, in any
// order; I64 below 0 stands for the id of the same 64 bits.
class ImportedModel final : public ModelSource {
 public:
  // Throws kUsage when tensors are not there, or cannot be such tables; kCorrupt when the file is damaged.
  ImportedModel(const std::string& path, const std::vector<NamePair>& pairs);
  ~ImportedModel() override;

  const std::vector<ModelTable>& tables() const override { return tables_; }

  // The cursor throws kData, with the place in the file, for a weight that is not finite.
  std::unique_ptr<RowCursor> rows(size_t table) override;
  bool knows_untrained_rows(size_t) const override { return false; }
  void untrained_row(size_t table, uint64_t key, float* weights) override;
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  int index_base() const override { return 0; }

  // Returns the names of the tensors of the file that no pair names.
  std::vector<std::string> left_out() const;

 private:
  struct Tensor;
  struct Keys;
  struct Source;
  class Rows;

  const TensorInfo& use(const std::string& theirs);
  Tensor use_matrix(const std::string& theirs);
  void add_tables(const std::vector<NamePair>& pairs);
  void add_table(const std::string& name, const Tensor& rows, const TensorInfo* keys);
  std::shared_ptr<const Keys> read_keys(const TensorInfo& tensor);

  SafetensorsReader file_;
  std::vector<ModelTable> tables_;
  std::vector<Source> sources_;  // by table
  std::set<std::string> used_;   // names of tensors
  std::map<std::string, std::string> metadata_;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_MODEL_IMPORTED_MODEL_H_
