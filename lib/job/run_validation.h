// RunValidation: the part of a run's data that is kept for validation, and the measures of passes on it.  Used
// by Run.
#ifndef PS_JOB_RUN_VALIDATION_H_
#define PS_JOB_RUN_VALIDATION_H_

#include <functional>
#include <memory>

#include "base/log.h"
#include "config/json.h"
#include "data/reader.h"
#include "feed/batch_source.h"
#include "job/job.h"
#include "train/early_stopping.h"
#include "train/trainer.h"

namespace ps {

// Throws kUsage if the options of validation contradict each other, or do not suit the processes of the run.
void check_validation(const Job& job);

// One owner thread.
class RunValidation {
 public:
  // `reader` gives the examples for validation.  Throws as EarlyStopping does.
  RunValidation(const TrainOptions& options, std::unique_ptr<BatchReader> reader, Log& log);

  // The caller makes the source of the reader's batches, as soon as there is a store.
  BatchReader& reader() { return *reader_; }
  void set_source(std::unique_ptr<BatchSource> source) { source_ = std::move(source); }

  // Adds the passes of the run that is resumed.
  void restore_passes(const Json& passes);

  // Measures the weights after a pass, and adds the measures to the result of the pass.  Returns true if it is
  // the best so far.
  bool measure(Trainer& trainer, int pass, const std::function<bool()>& stop, Json& trained);

  // Returns true if no pass was the best for too long.
  bool stops() const { return early_stopping_.stops(); }

  // Logs the best pass, and adds it to the result of the run.
  void report(Json& result) const;

 private:
  Log& log_;
  EarlyStopping early_stopping_;
  std::unique_ptr<BatchReader> reader_;
  std::unique_ptr<BatchSource> source_;
};

}  // namespace ps

#endif  // PS_JOB_RUN_VALIDATION_H_
