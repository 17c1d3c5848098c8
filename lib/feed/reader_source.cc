#include "feed/reader_source.h"

namespace ps {

// The last pass ends first, because its threads own the reader.  The plans get their limit from what the
// reader has to spare once the pass has begun; batches are counted from the beginning of the pass, so that
// plans of skipped ones are not mistaken for others.
int64_t ReaderSource::begin_pass(const SourcePass& pass, const Stop& stop) {
  end_pass();
  reader_.begin_pass(pass.pass);
  const int64_t skipped = skip_batches(pass.skip, stop);
  if (pass.training) plans_.set_limit(reader_.spare_bytes());
  ahead_ = std::make_unique<PrepareAhead>(
      network_, reader_,
      PrepareAhead::Options{.threads = preparing_threads(),
                            .ahead = options_.ahead,
                            .training = pass.training,
                            .key_order = pass.key_order,
                            .steps = pass.steps,
                            .kept = {pass.training ? &plans_ : nullptr, pass.skip}});
  return skipped;
}

// The order of examples follows from seed and pass alone: after the same number of batches the reader is at the
// same position as in the run before.
int64_t ReaderSource::skip_batches(int64_t batches, const Stop& stop) {
  Batch batch;
  int64_t skipped = 0;
  while (skipped < batches && !stop() && reader_.next(batch)) ++skipped;
  return skipped;
}

// As many threads prepare as compute: reading and planning take as long as what the loop itself does with
// narrow rows.  A single thread prepares and computes in turn, unless the reader or the parameters may have to
// wait.
int ReaderSource::preparing_threads() const {
  const bool alone = options_.threads == 1 && !reader_.may_wait() && !options_.parameters_wait;
  return alone ? 0 : options_.threads;
}

}  // namespace ps
