// BatchSource: gives a training loop its prepared batches.  ReaderSource implements it over the data of this
// process; Trainer knows this interface alone.
#ifndef PS_FEED_BATCH_SOURCE_H_
#define PS_FEED_BATCH_SOURCE_H_

#include <cstdint>
#include <functional>

#include "model/prepared_batch.h"

namespace ps {

// The step numbers of training batches: no two trainers of a job have a number in common.
struct StepNumbers {
  int64_t first = 0, stride = 1;
};

// How the batches of one pass are to be prepared.
struct SourcePass {
  int pass = 0;
  int64_t skip = 0;       // number of batches at the beginning that are read and not handed out
  bool training = false;  // false: labels and costs are only measured
  KeyOrder key_order = KeyOrder::kFirstAppearance;
  StepNumbers steps = {};
};

// One owner thread.
class BatchSource {
 public:
  using Stop = std::function<bool()>;

  virtual ~BatchSource() = default;

  // Starts a pass, after the end of the one before.  Returns the number of skipped batches.  These are fewer than
  // asked for if the data end earlier, or if `stop` returns true.
  virtual int64_t begin_pass(const SourcePass& pass, const Stop& stop) = 0;

  // Returns the next batch, which is valid until the next call.  Returns null at the end of the pass, and soon
  // after `stop` begins to return true, even while the input waits.  Rethrows errors of the data.
  virtual const PreparedBatch* next(const Stop& stop) = 0;

  // Returns the batch that the `calls`-th call of next() from now will return, or null if it is not ready.
  // `calls` is at least 1.  The batch is valid until that call.  Does not wait.
  virtual const PreparedBatch* peek(size_t calls) = 0;

  // Returns true if it is known that the `calls`-th call of next() from now will find the end of the pass, or a call
  // before it.  Does not wait.
  virtual bool ends_within(size_t calls) { return (void)calls, false; }

  // Returns the fraction of the pass that has been read, in [0, 1]; 0 when it is unknown.
  virtual double fraction_read() const = 0;

  // Ends the pass and frees its memory.  If next() had more batches to return, the run is over, and no other
  // pass may begin.  Does nothing between passes.
  virtual void end_pass() = 0;
};

}  // namespace ps

#endif  // PS_FEED_BATCH_SOURCE_H_
