#include "job/run_validation.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "job/fingerprint.h"

namespace ps {

void check_validation(const Job& job) {
  const TrainOptions& train = job.train;
  const bool validates = job.data.validates();
  if (!validates && (train.patience || train.best_by != "cost")) {
    fail(Code::kUsage, train.patience ? "train.patience" : "train.best_by",
         ": there are no validation data: set data.validation, to 0.1 for a tenth of the lines");
  }
  if (!validates && !job.data.validation_by.empty()) {
    fail(Code::kUsage,
         "data.validation_by: there are no validation data: set data.validation, to 0.1 for a "
         "tenth of the values of ",
         quote(job.data.validation_by), ", or data.validation_values");
  }
  if (validates && reads_standard_input(job)) {
    fail(Code::kUsage,
         "data.validation: standard input cannot be read a second time for validation: give files");
  }
  if (train.patience && (has_servers(job) || job.cluster.trainers > 1)) {
    fail(Code::kUsage,
         "train.patience: one trainer cannot end a run of several, or of servers: leave it out");
  }
}

RunValidation::RunValidation(const TrainOptions& options, std::unique_ptr<BatchReader> reader, Log& log)
    : log_(log), early_stopping_(options), reader_(std::move(reader)) {}

void RunValidation::restore_passes(const Json& passes) {
  for (const Json& pass : passes) {
    if (pass.contains("validation")) early_stopping_.add(pass["pass"].get<int>(), pass["validation"]);
  }
}

bool RunValidation::measure(Trainer& trainer, int pass, const std::function<bool()>& stop, Json& trained) {
  try {
    trained["validation"] = trainer.test(pass, *source_, stop, "Validation").json();
  } catch (const Error& error) {
    throw error.code() == Code::kData ? error.within("data.validation") : error;
  }
  return !stop() && early_stopping_.add(pass, trained["validation"]);
}

void RunValidation::report(Json& result) const {
  const EarlyStopping& early = early_stopping_;
  if (early.best_pass() < 0) return;
  result["best"] = {{"pass", early.best_pass()}, {early.measure(), early.best()}};
  log_.info(early.stops() ? "Ended early: the" : "The", " best pass on the validation data is ",
            early.best_pass(), ", ", early.measure(), "=", significant(early.best(), 6));
}

}  // namespace ps
