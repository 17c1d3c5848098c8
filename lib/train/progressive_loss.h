// ProgressiveLoss: decides when the cost of a pass so far, and since the last report, is reported.  As in
// Vowpal Wabbit, this is when the number of examples passes a power of two.  Used by Reporter.
#ifndef PS_TRAIN_PROGRESSIVE_LOSS_H_
#define PS_TRAIN_PROGRESSIVE_LOSS_H_

#include <optional>

#include "train/measures.h"

namespace ps {

// One owner thread.
class ProgressiveLoss {
 public:
  struct Row {
    double average = 0;     // mean over the examples of the pass so far
    double since_last = 0;  // mean over the examples since the row before, or since begin
    int64_t examples = 0;   // examples of the pass so far
  };

  // Begins a pass, or resumes one after the examples of `before`.
  void begin(const CostTotals& before);

  // Takes the growing totals of the pass after another batch.  Returns a row if one is due.
  std::optional<Row> add(const CostTotals& totals);

 private:
  CostTotals last_;  // totals at the row before
  int64_t due_ = 1;  // number of examples at which the next row is due; a power of two
};

}  // namespace ps

#endif  // PS_TRAIN_PROGRESSIVE_LOSS_H_
