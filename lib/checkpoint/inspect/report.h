// Looking into a model: its largest weights, one row, the rows nearest to one, figures of its tables.  Used by
// ps-ckpt2model.
//
// Each report makes one or two passes over the rows, in the order of their keys and a block at a time, so that
// a model need not fit in memory.  Each has JSON, and the same as text for people.
#ifndef PS_CHECKPOINT_INSPECT_REPORT_H_
#define PS_CHECKPOINT_INSPECT_REPORT_H_

#include <cstddef>
#include <string>

#include "checkpoint/model/model_source.h"
#include "checkpoint/model/row_names.h"
#include "config/fwd.h"

namespace ps {

// The `count` weights of the largest magnitude in all tables together, largest first, ties in the order of tables,
// keys and columns: [{"table", "key", "name"?, "column", "weight"}].  Throws kData when a weight is not finite.
Json largest_weights(ModelSource& source, const RowNames& names, size_t count);
std::string largest_weights_text(const Json& weights);

// The row that `row` says, a key or a name, in each table that has it:
// [{"table", "key", "name"?, "weights": […], "state"?: [[…], …]}].  Throws kUsage when no table has it.
Json find_row(ModelSource& source, const RowNames& names, const std::string& row);
std::string row_text(const Json& rows);

// The measures of nearness of two rows a and b.
enum class Metric {
  kCosine,  // a·b / (|a| |b|), 0 where one is zero: the largest is nearest
  kDot,     // a·b: the largest is nearest
  kL2,      // |a - b|: the smallest is nearest
};

// The `count` rows nearest to the row that `row` says, itself left out, in each table that has it, nearest first, ties
// in the order of keys: [{"table", "key", "name"?, "nearest": [{"key", "name"?, "value"}]}].  Throws kUsage when no
// table has the row, kData when a weight is not finite.
Json nearest_rows(ModelSource& source, const RowNames& names, const std::string& row, Metric metric,
                  size_t count);
std::string nearest_text(const Json& tables);

// Figures of each table:
//   "rows", "width", "never_updated" (rows; null when that is not known), "zeros", "not_finite" (weights), and of the
//   finite weights "mean", "deviation", "norm" (of all in one vector), "weights" (quantiles), "row_norms" (quantiles).
// A quantile q of n numbers is the one of rank ceil(q n) in their order; quantiles are exact.  A row is never updated
// when it is not in a sparse table whose keys are bounded, or has the bits with which it began in a dense one.
Json model_statistics(ModelSource& source);
std::string statistics_text(const Json& tables);

}  // namespace ps

#endif  // PS_CHECKPOINT_INSPECT_REPORT_H_
