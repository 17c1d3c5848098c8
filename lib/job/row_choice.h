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

  // Returns true if it may leave out rows of a table with this layout.  Dense parameters are never chosen
  // from.
  bool chooses(const TableLayout& layout) const;
};

// Returns a predicate of the chosen rows of a table, to be called in the order of keys; null: all rows are
// chosen.  All arguments except `choice` must outlive it.  Throws kUsage when the table has not what the
// choice goes by.
KeepRow chosen_rows(const RowChoice& choice, const CheckpointReader& reader, const TableLayout& layout,
                    const ParameterSpec& spec);

// The rows of all partitions of a table in the order of their keys.
std::unique_ptr<RowCursor> merged_rows_of(const CheckpointReader& reader, const TableLayout& layout,
                                          KeepRow keep);

}  // namespace ps

#endif  // PS_JOB_ROW_CHOICE_H_
