// ModelSource: what a model file is written from: tables of weights, in the order of their keys.  Used by the
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
  uint64_t rows = 0;     // keys are below it; 0, of a sparse table: any
  uint64_t count = 0;    // rows that there are, as many as the keys of a cursor
  int64_t width = 1;     // of the weights
  int state_arrays = 0;  // of `width` each, behind the weights; 0 when they were not asked for

  int64_t values() const { return width * (1 + state_arrays); }
  bool whole() const { return !sparse && count == rows; }  // keys are 0, 1, …, rows - 1
};

// Owner thread only.
class ModelSource {
 public:
  virtual ~ModelSource() = default;

  virtual const std::vector<ModelTable>& tables() const = 0;

  // The rows of a table, keys ascending, weights up to date; may be asked for any number of times.  The
  // source must outlive the cursor.
  virtual std::unique_ptr<RowCursor> rows(size_t table) = 0;

  // weights [width] <- what a row that was never trained has.
  virtual void untrained_row(size_t table, uint64_t key, float* weights) = 0;

  // "format", "job", "seed", "step".
  virtual const std::map<std::string, std::string>& metadata() const = 0;

  // The id in the data of key 0, as libsvm files count.
  virtual int index_base() const = 0;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_MODEL_MODEL_SOURCE_H_
