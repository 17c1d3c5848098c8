#include "train/options.h"

#include "base/error.h"
#include "base/text.h"
#include "config/spec.h"

namespace ps {

// Describes the keys of the section, with the help texts that the manual shows, their limits, and a check of
// the whole.
const ObjectSpec<TrainOptions>& TrainOptions::spec() {
  constexpr double kMostPullAhead = 1000;
  static const ObjectSpec<TrainOptions> spec = [] {
    ObjectSpec<TrainOptions> s;
    s.field("passes", &TrainOptions::passes,
            "times through the data; auto: more where there are fewer examples")
        .at_least(0)
        .or_auto();
    s.field("gradient", &TrainOptions::gradient,
            "gradient of a batch: over its examples, their sum or their mean")
        .one_of({"sum", "mean"});
    s.field("accumulate", &TrainOptions::accumulate,
            "batches whose gradients are added up for one step; a batch then needs the memory of "
            "data.batch_size "
            "examples, and a step has accumulate times as many")
        .at_least(1)
        .at_most(1 << 16);
    s.field(
         "strategy", &TrainOptions::strategy,
         "how trainers bring their work together: an object with the type and the keys of a strategy below")
        .type = []() -> Json {
      return {{"type", "object"}};
    };
    s.field(
         "pull_ahead", &TrainOptions::pull_ahead,
         "with servers, for one trainer, or readers of one compute trainer, in synchronous mode: batches "
         "whose "
         "rows are pulled before they are needed, so that no step waits for the network, with the same bits; "
         "for readers in asynchronous mode: batches that are on their way to compute trainers; servers must "
         "be "
         "told the same; 0: rows of the next batch alone, and every step waits for the one before")
        .at_least(0)
        .at_most(kMostPullAhead);
    s.field("log_period", &TrainOptions::log_period,
            "batches between two reports, 0: only at the end of a pass; absent: 100, of which a line is "
            "shown once a second at most")
        .at_least(0);
    s.field("patience", &TrainOptions::patience,
            "with data.validation: training ends after so many passes in a row of which none was the best; "
            "absent: never")
        .at_least(1);
    s.field("best_by", &TrainOptions::best_by,
            "with data.validation: measure of the validation data by which a pass is the best, cost or a "
            "value of an evaluator");
    s.field(
         "calibrate", &TrainOptions::calibrate,
         "with data.validation, for costs that predict the probability of label 1: how predictions of saved "
         "models "
         "are fitted to the share of examples that have it, on the validation data after each pass; platt: a "
         "logistic function of the score; isotonic: any rising function")
        .one_of({"none", "platt", "isotonic"});
    s.field("save_dir", &TrainOptions::save_dir,
            "folder in which pass-00000 and so on are saved, empty: none");
    s.field("saving_period", &TrainOptions::saving_period,
            "passes between two saved models; the last pass is always saved")
        .at_least(1);
    s.field(
        "load_save_parameters_in_pserver", &TrainOptions::load_save_parameters_in_pserver,
        "with servers: a saved model is the files of their checkpoint, to which the trainer adds a manifest; "
        "checkpoint.directory has to be theirs, and seen by the trainer");
    s.field("emulated_compute", &TrainOptions::emulated_compute,
            "for measuring: forward and backward of a batch are a wait of so long, such as 375ms, and "
            "gradients are noise");
    s.check([](const TrainOptions& options, std::string_view path) {
      if (!options.emulated_compute || options.emulated_seconds()) return;
      fail(Code::kUsage, json_path(path, "emulated_compute"), ": ", quote(*options.emulated_compute),
           " is no duration of up to an hour; write 375ms, 2s or 1m");
    });
    return s;
  }();
  return spec;
}

std::optional<double> TrainOptions::emulated_seconds() const {
  constexpr double kMost = 3600;
  const std::optional<double> seconds = emulated_compute ? parse_seconds(*emulated_compute) : std::nullopt;
  return seconds && *seconds >= 0 && *seconds <= kMost ? seconds : std::nullopt;
}

bool TrainOptions::saves_after(int64_t pass) const {
  return !save_dir.empty() && (pass + 1 == passes || (pass + 1) % saving_period == 0);
}

}  // namespace ps
