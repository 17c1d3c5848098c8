// RowChoice: which rows of a checkpoint go into a model.  Used by ps-ckpt2model.
#ifndef PS_JOB_ROW_CHOICE_H_
#define PS_JOB_ROW_CHOICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/merged_cursor.h"
#include "optim/parameter.h"

namespace ps {

// By their worth, as PaddlePaddle's accessors choose what they save for serving.
enum class RowSet {
  kAll,
  kBase,   // whose score is high enough, and whose keys occurred lately
  kDelta,  // of these, those whose score has grown enough since an earlier checkpoint
};

struct RowChoice {
  std::vector<std::string> tables = {};            // empty: all
  std::optional<std::vector<uint64_t>> keys = {};  // ascending; nothing: all
  uint64_t first_key = 0, last_key = UINT64_MAX;
  std::optional<double> min_shows = {};  // of tables that count how often their rows were shown
  RowSet set = RowSet::kAll;
  double base_threshold = 1.5, delta_threshold = 0.25;  // PaddlePaddle's defaults, as is the next
  double max_unseen = 16;                               // shrinks since a key occurred
  const CheckpointReader* since = nullptr;              // of kDelta
  bool with_state = false;                              // the optimizer's too

  // Whether it may leave rows of such a table out.  Dense parameters are always whole.
  bool chooses(const TableLayout& layout) const;
};

// Tells the chosen rows of a table, which must be asked for in the order of their keys; null: all.  What it
// is given outlives it, but the choice.  Throws kUsage when the table has not what the choice goes by.
KeepRow chosen_rows(const RowChoice& choice, const CheckpointReader& reader, const TableLayout& layout,
                    const ParameterSpec& spec);

// The rows of all partitions of a table in the order of their keys.
std::unique_ptr<RowCursor> merged_rows_of(const CheckpointReader& reader, const TableLayout& layout,
                                          KeepRow keep);

}  // namespace ps

#endif  // PS_JOB_ROW_CHOICE_H_
