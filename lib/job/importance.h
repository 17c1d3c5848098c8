// Permutation importance (Breiman, Machine Learning 45, 2001): the loss of quality if one slot of each example
// is taken from another example, so that the slot tells nothing about the label.  Used by ps-train
// --importance.
#ifndef PS_JOB_IMPORTANCE_H_
#define PS_JOB_IMPORTANCE_H_

#include <functional>
#include <string>

#include "config/fwd.h"
#include "data/reader.h"
#include "feed/batch_source.h"
#include "model/network.h"
#include "train/trainer.h"

namespace ps {

// The batches of a reader, in which one slot comes from a second reader of the same examples in another order.
// Its arguments outlive it.  One owner thread.
class SwappedSlotSource final : public BatchSource {
 public:
  // Both readers give the same number of examples, in batches of the same size.
  SwappedSlotSource(const Network<float>& network, BatchReader& reader, BatchReader& shuffled)
      : network_(network), reader_(reader), shuffled_(shuffled) {}

  // Sets the slot that is swapped in the next passes, by its position in the schema.  Each slot has an order of
  // its own.
  void swap(size_t slot) { slot_ = slot; }

  int64_t begin_pass(const SourcePass& pass, const Stop& stop) override;
  const PreparedBatch* next(const Stop& stop) override;
  const PreparedBatch* peek(size_t) override { return nullptr; }
  double fraction_read() const override { return 0; }
  void end_pass() override {}

 private:
  const Network<float>& network_;
  BatchReader &reader_, &shuffled_;
  size_t slot_ = 0;
  Network<float>::Planners planners_;
  PreparedBatch prepared_;
  Batch other_;
};

// Returns {"figure", "value", "slots": [{"slot", "value", "importance"}]}, the most important slot first.  A
// slot's `value` is the figure with this slot swapped, and `importance` is by how much that is worse.  `source`
// gives the unchanged batches.  If the figure is an evaluator of each of several labels, "auc" of "click.auc" and
// "conversion.auc", it returns {"figure", "labels": […]} with such an object for each.  Throws kUsage for a figure that
// the job lacks, or of which it is unknown whether more is better, and kData for one that is undefined.
Json slot_importance(Trainer& trainer, const Network<float>& network, const std::string& figure,
                     BatchSource& source, SwappedSlotSource& swapped, const std::function<bool()>& stop);
std::string importance_text(const Json& importance);

}  // namespace ps

#endif  // PS_JOB_IMPORTANCE_H_
