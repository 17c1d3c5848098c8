// BatchSource: gives a training loop its prepared batches.  ReaderSource implements it over the data of this
// process; Trainer knows this interface alone.
#ifndef PS_FEED_BATCH_SOURCE_H_
#define PS_FEED_BATCH_SOURCE_H_

#include <cstdint>
#include <functional>

#include "model/prepared_batch.h"

namespace ps {

// The numbers of training batches: no two trainers of a job have the same.
struct StepNumbers {
  int64_t first = 0, stride = 1;
};

// How the batches of one pass are to be prepared.
struct SourcePass {
  int pass = 0;
  int64_t skip = 0;       // the first batches of the pass, which are read and not handed out
  bool training = false;  // else labels and costs are measured alone
  KeyOrder key_order = KeyOrder::kFirstAppearance;
  StepNumbers steps = {};
};

// One owner thread.
class BatchSource {
 public:
  using Stop = std::function<bool()>;

  virtual ~BatchSource() = default;

  // Starts a pass, after the end of the one before.  Returns how many batches were skipped: fewer than asked for when
  // the data end before, or `stop` says true.
  virtual int64_t begin_pass(const SourcePass& pass, const Stop& stop) = 0;

  // The next batch, good until the next call; null at the end of the pass, or soon after `stop` begins to say
  // true, also while the input waits.  Rethrows errors of the data.
  virtual const PreparedBatch* next(const Stop& stop) = 0;

  // The batch that so many calls of next() will give, at least one, when it is ready; good until it is the current one;
  // else null.  Does not wait.
  virtual const PreparedBatch* peek(size_t calls) = 0;

  // How much of the pass has been read, in [0, 1]; 0 when unknown.
  virtual double fraction_read() const = 0;

  // Ends the pass and frees its memory.  The run is over when next() had more to give: no other pass begins.  Does
  // nothing between passes.
  virtual void end_pass() = 0;
};

}  // namespace ps

#endif  // PS_FEED_BATCH_SOURCE_H_
