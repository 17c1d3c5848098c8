// RowChoice: a choice of the rows of a checkpoint that go into a model.  Used by ps-ckpt2model.
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

// Sets of rows by their scores, as PaddlePaddle's accessors choose the rows that they save for serving.
enum class RowSet {
  kAll,
  kBase,   // rows with a high enough score whose keys occurred lately
  kDelta,  // rows of kBase whose score has grown enough since an earlier checkpoint
};

struct RowChoice {
  std::vector<std::string> tables = {};            // empty: all
  std::optional<std::vector<uint64_t>> keys = {};  // ascending; nullopt: all
  uint64_t first_key = 0, last_key = UINT64_MAX;
  std::optional<double> min_shows = {};  // for tables that count shows of rows: the fewest shows
  RowSet set = RowSet::kAll;
  double base_threshold = 1.5, delta_threshold = 0.25;  // PaddlePaddle's defaults, like the next one
  double max_unseen = 16;                               // the most shrinks since a key occurred
  const CheckpointReader* since = nullptr;              // the earlier checkpoint, for kDelta
  bool with_state = false;                              // the model contains the optimizer's state too

  // Returns true if the choice may leave out rows of a table with this layout.  It always keeps all rows of
  // dense parameters.
  bool chooses(const TableLayout& layout) const;
};

// Returns a predicate for the chosen rows of a table, to be called in the order of keys; null: all rows are
// chosen.  All arguments except `choice` must outlive it.  Throws kUsage if the table lacks the statistics that
// the choice needs.
KeepRow chosen_rows(const RowChoice& choice, const CheckpointReader& reader, const TableLayout& layout,
                    const ParameterSpec& spec);

// Returns a cursor over the rows of all partitions of a table in the order of their keys.
std::unique_ptr<RowCursor> merged_rows_of(const CheckpointReader& reader, const TableLayout& layout,
                                          KeepRow keep);

}  // namespace ps

#endif  // PS_JOB_ROW_CHOICE_H_
