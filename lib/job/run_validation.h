// RunValidation: the part of a run's data that is kept for validation, and the measures of passes on it.  Used
// by Run.
#ifndef PS_JOB_RUN_VALIDATION_H_
#define PS_JOB_RUN_VALIDATION_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "config/json.h"
#include "data/reader.h"
#include "feed/batch_source.h"
#include "job/job.h"
#include "model/network.h"
#include "store/trainer_group.h"
#include "train/early_stopping.h"
#include "train/trainer.h"

namespace ps {

// Throws kUsage if the options of validation contradict each other, or do not suit the processes of the run.
void check_validation(const Job& job);

// One owner thread.
class RunValidation {
 public:
  // `reader` gives the examples for validation.  Throws as EarlyStopping does.
  RunValidation(const TrainOptions& options, const Network<float>& network,
                std::unique_ptr<BatchReader> reader, Log& log);

  // The caller makes the source of the reader's batches, as soon as there is a store.
  BatchReader& reader() { return *reader_; }
  void set_source(std::unique_ptr<BatchSource> source) { source_ = std::move(source); }

  // Adds the passes of the run that is resumed: those in its results, and what an earlier process with servers has left in
  // its checkpoint as the trainer's note.  Throws kData for a note that makes no sense.
  void restore(const Trainer& trainer, const Json& passes);

  // To be called before the first pass.  If several trainers may end early, their leader measures the weights before they
  // join their figures of a pass, and its figure goes with these, so that all trainers end after the same pass.  The
  // passes before, as each of them knows them, go with them too, for those that have come in the place of others.
  void share(Trainer& trainer, const TrainerGroup& group, const std::function<bool()>& stop);

  // Called after a pass by each trainer.  The leader, who measures the weights here unless it has done so ahead,
  // adds the measures to the result of the pass.  Then the trainer's note has what is known of the passes.
  // Returns true on the leader if the pass is the best so far.
  bool end_pass(Trainer& trainer, int pass, bool leads, const std::function<bool()>& stop, Json& trained);

  // Returns the calibration that was fitted after the last pass that this process has measured; nullopt: none was.
  const std::optional<Calibration>& calibration() const { return calibration_; }

  // Returns true if no pass was the best for too long.
  bool stops() const { return early_stopping_.stops(); }

  // Logs the best pass, and adds it to the result of the run.
  void report(Json& result) const;

 private:
  TestMeasures measure_and_fit(Trainer& trainer, const std::function<bool()>& stop);
  TestMeasures measure(Trainer& trainer, const std::function<bool()>& stop);
  void take(std::span<const std::optional<std::string>> texts);

  Log& log_;
  const Network<float>& network_;
  const std::string calibrate_;  // none | platt | isotonic
  std::optional<Calibration> calibration_;
  const Json rule_;  // the options by which the run ends
  EarlyStopping early_stopping_;
  std::unique_ptr<BatchReader> reader_;
  std::unique_ptr<BatchSource> source_;
  bool shared_ = false;
  std::optional<TestMeasures> ahead_;     // at the leader, if it is shared: the measures of the pass
  std::optional<double> leaders_figure_;  // if it is shared: of the pass; nothing: it is undefined
};

}  // namespace ps

#endif  // PS_JOB_RUN_VALIDATION_H_
