// ProgressiveLoss: when to report the cost of a pass so far, and since the report before: whenever the number of its
// examples has passed a power of two, as Vowpal Wabbit does.  Used by Reporter.
#ifndef PS_TRAIN_PROGRESSIVE_LOSS_H_
#define PS_TRAIN_PROGRESSIVE_LOSS_H_

#include <optional>

#include "train/measures.h"

namespace ps {

// One owner thread.
class ProgressiveLoss {
 public:
  struct Row {
    double average = 0;     // over the examples of the pass so far
    double since_last = 0;  // over those since the row before, or since begin
    int64_t examples = 0;   // of the pass so far
  };

  // A pass begins, or goes on after the examples of `before`.
  void begin(const CostTotals& before);

  // `totals` of the pass after another batch, which grow.  Nullopt unless a row is due.
  std::optional<Row> add(const CostTotals& totals);

 private:
  CostTotals last_;  // of the row before
  int64_t due_ = 1;  // the next row comes with so many examples: a power of two
};

}  // namespace ps

#endif  // PS_TRAIN_PROGRESSIVE_LOSS_H_
