#include "job/run_validation.h"

#include <utility>
#include <vector>

#include "base/diverged.h"
#include "base/error.h"
#include "base/text.h"
#include "job/fingerprint.h"
#include "model/labels.h"
#include "train/calibration_fit.h"

namespace ps {

void check_validation(const Job& job) {
  const TrainOptions& train = job.train;
  const bool validates = job.data.validates();
  if (!validates && (train.patience || train.best_by != "cost" || train.calibrate != "none")) {
    fail(Code::kUsage,
         train.patience            ? "train.patience"
         : train.best_by != "cost" ? "train.best_by"
                                   : "train.calibrate",
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
}

RunValidation::RunValidation(const TrainOptions& options, const Network<float>& network,
                             std::unique_ptr<BatchReader> reader, Log& log)
    : log_(log),
      network_(network),
      calibrate_(options.calibrate),
      rule_(
          {{"patience", options.patience ? Json(*options.patience) : Json()}, {"best_by", options.best_by}}),
      early_stopping_(options),
      reader_(std::move(reader)) {}

void RunValidation::restore(const Trainer& trainer, const Json& passes) {
  for (const Json& pass : passes) {
    if (pass.contains("validation")) early_stopping_.add(pass["pass"].get<int>(), pass["validation"]);
  }
  const std::string& note = trainer.progress().note();
  if (!note.empty()) early_stopping_.learn(parse_json(note, "passes of a checkpoint"));
}

// Fits the calibration to the predictions that are measured.
TestMeasures RunValidation::measure_and_fit(Trainer& trainer, const std::function<bool()>& stop) {
  if (calibrate_ == "none") return measure(trainer, stop);
  std::vector<CalibrationExample> examples;
  trainer.on_measured([&](Matrix<const float> predictions, std::span<const float>, const Batch& batch) {
    for (int64_t b = 0; b < predictions.rows; ++b) {
      if (const std::optional<float> label = network_.main_label(batch, b))
        examples.push_back({predictions.row(b)[0], is_positive(*label), batch.weight(b)});
    }
  });
  TestMeasures measured = measure(trainer, stop);
  trainer.on_measured([](Matrix<const float>, std::span<const float>, const Batch&) {});
  if (stop()) return measured;
  calibration_ = fit_calibration(calibrate_, examples);
  log_.info("Calibrated on ", examples.size(), " examples: ",
            calibrate_ == "platt" ? cat("scale=", significant(calibration_->scale, 6),
                                        " offset=", significant(calibration_->offset, 6))
                                  : cat(calibration_->from.size(), " points"));
  return measured;
}

// Errors of the data name data.validation, since they come from the same files as the training data, but
// later.
TestMeasures RunValidation::measure(Trainer& trainer, const std::function<bool()>& stop) {
  try {
    return trainer.measure(*source_, stop);
  } catch (const Diverged&) {
    throw;
  } catch (const Error& error) {
    throw error.code() == Code::kData ? error.within("data.validation") : error;
  }
}

// text := {"patience": 2, "best_by": "cost", "known": {...}, "figure": 0.5}
//   figure: of the leader alone; null: it is undefined
void RunValidation::share(Trainer& trainer, const TrainerGroup& group, const std::function<bool()>& stop) {
  shared_ = !rule_["patience"].is_null() && group.size() > 1;
  if (!shared_) return;
  auto give = [this, &trainer, &group, stop](int) {
    Json text = rule_;
    text["known"] = early_stopping_.known();
    if (group.rank() == group.leader()) {
      ahead_.emplace(measure_and_fit(trainer, stop));
      const std::optional<double> figure = early_stopping_.figure(ahead_->result().json());
      text["figure"] = figure ? Json(*figure) : Json();
    }
    return text.dump();
  };
  trainer.share_at_pass_end(
      {give, [this](std::span<const std::optional<std::string>> texts) { take(texts); }});
}

// Takes the leader's figure, and what others know of the passes before.  If the leader was lost in this
// pass, there is no figure, and the pass is not the best one.  Throws kUsage if the trainers would not end
// by the same rule.
void RunValidation::take(std::span<const std::optional<std::string>> texts) {
  leaders_figure_.reset();
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (!texts[rank]) continue;  // this trainer is gone
    Json text = texts[rank]->empty() ? Json::object() : parse_json(*texts[rank], "validation of a trainer");
    if (const auto known = text.find("known"); known != text.end()) {
      early_stopping_.learn(*known);
      text.erase(known);
    }
    if (const auto figure = text.find("figure"); figure != text.end()) {
      leaders_figure_ = figure->is_number() ? std::optional(figure->get<double>()) : std::nullopt;
      text.erase(figure);
    }
    if (text == rule_) continue;
    fail(Code::kUsage, "train.patience: trainer ", rank, " ends by another rule than this trainer, ",
         rule_.dump(), ": ", text.dump(), ": give all trainers the same");
  }
}

// The leader measures, unless share has measured ahead of the gathering of figures.  Then leaders_figure_,
// which all trainers have got, decides on every one of them, so that all stop after the same pass.  Without
// sharing only the leader follows the rule.  The note of the trainer gets the outcome, which a later
// process learns from the checkpoint.
bool RunValidation::end_pass(Trainer& trainer, int pass, bool leads, const std::function<bool()>& stop,
                             Json& trained) {
  if (!leads && !shared_) return false;
  std::optional<double> figure = leaders_figure_;
  if (leads) {
    const TestMeasures measured = ahead_ ? std::move(*ahead_) : measure_and_fit(trainer, stop);
    ahead_.reset();
    trainer.report_test(pass, measured, "Validation");
    trained["validation"] = measured.result().json();
    if (stop()) return false;
    if (!shared_) figure = early_stopping_.figure(trained["validation"]);
  }
  const bool best = early_stopping_.add(pass, figure);
  trainer.progress().set_note(early_stopping_.known().dump());
  return best && leads;
}

void RunValidation::report(Json& result) const {
  const EarlyStopping& early = early_stopping_;
  if (early.best_pass() < 0) return;
  result["best"] = {{"pass", early.best_pass()}, {early.measure(), early.best()}};
  log_.info(early.stops() ? "Ended early: the" : "The", " best pass on the validation data is ",
            early.best_pass(), ", ", early.measure(), "=", significant(early.best(), 6));
}

}  // namespace ps
