// ModelSource: the source of a model file: tables of weights in the order of their keys.  Used by the
// formats.
#ifndef PS_CHECKPOINT_MODEL_MODEL_SOURCE_H_
#define PS_CHECKPOINT_MODEL_MODEL_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/row_cursor.h"

namespace ps {

struct ModelTable {
  std::string name;
  bool sparse = false;
  uint64_t rows = 0;     // keys are below it; 0: any key (sparse tables only)
  uint64_t count = 0;    // number of rows that a cursor gives
  int64_t width = 1;     // weights of a row
  int state_arrays = 0;  // state arrays of `width` each behind the weights; 0 unless requested
  bool counted = false;  // rows have histories: the statistics of RowLayout::history_names()

  int64_t values() const { return width * (1 + state_arrays); }
  bool whole() const { return !sparse && count == rows; }  // keys are 0, 1, …, rows - 1
};

// Owner thread only.
class ModelSource {
 public:
  virtual ~ModelSource() = default;

  virtual const std::vector<ModelTable>& tables() const = 0;

  // Returns the rows of a table, keys ascending, weights up to date.  May be called repeatedly.  The source
  // must outlive the cursor.
  virtual std::unique_ptr<RowCursor> rows(size_t table) = 0;

  // True when untrained_row knows how the rows of this table begin; it throws kUsage otherwise.
  virtual bool knows_untrained_rows(size_t table) const = 0;

  // weights [width] <- the initial weights of a row that was never trained.
  virtual void untrained_row(size_t table, uint64_t key, float* weights) = 0;

  // "format", "job", "seed", "step".
  virtual const std::map<std::string, std::string>& metadata() const = 0;

  // The id of key 0 in libsvm files.
  virtual int index_base() const = 0;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_MODEL_MODEL_SOURCE_H_
