#include "job/tuning/sweep_training.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diverged.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "job/run.h"
#include "job/tuning/repeated_job.h"

namespace ps {

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;  // keys and values

Override override_of(const std::string& key, const std::string& value) {
  return {.key = key, .values = {value}, .is_set = true, .typed = "--sweep"};
}

std::vector<Override> overrides_of(const Values& values) {
  std::vector<Override> all;
  for (const auto& [key, value] : values) all.push_back(override_of(key, value));
  return all;
}

// Returns the folder of the training of this number, PARENT/000 and so on; empty if the parent is.
std::string folder_of(const std::string& parent, size_t number) {
  if (parent.empty()) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%03zu", number);
  return join_path(parent, text);
}

// "optimizer.learning_rate=0.1 train.passes=2 fold 2 of 5"
std::string name_of(const SweepRow& row, int fold, int folds) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : row.values) parts.push_back(cat(key, "=", value));
  if (row.passes > 0) parts.push_back(cat("train.passes=", row.passes));
  if (folds > 1) parts.push_back(cat("fold ", fold + 1, " of ", folds));
  return join(parts, " ");
}

// Trains the rows of a sweep until all are trained, or the run is to stop.  One owner thread.
class SweepTraining {
 public:
  SweepTraining(const SweepPlan& plan, const std::function<Job(std::span<const Override>)>& make,
                const RunOptions& options, Log& log)
      : plan_(plan), make_(make), options_(options), log_(log) {
    options_.on_result = [this](const Json& taken) { result_ = taken; };
  }

  Json run() {
    const std::vector<SweepRun> runs =
        plan_.samples > 0 ? sampled_runs(plan_.keys, plan_.samples, make_({}).job.seed, plan_.folds)
                          : sweep_runs(plan_.keys, plan_.folds);
    for (size_t r = 0; r < runs.size(); r += static_cast<size_t>(plan_.folds))
      rows_.push_back({runs[r].values, {}, {}, 0});
    plan_.halving ? halve() : train_all();
    settle_diverged();
    std::erase_if(rows_, [](const SweepRow& row) { return row.folds.empty(); });
    return rows_.empty() ? Json() : sweep_result(rows_, by_);
  }

 private:
  void train_all() {
    num_trainings_ = rows_.size();
    for (SweepRow& row : rows_) {
      if (!train(row)) return;
    }
  }

  // Trains the rounds of successive halving.  Rows of a round are trained in their order in the table.  A round
  // that is interrupted leaves the rows with the figures of the round before.
  void halve() {
    for (const SweptKey& key : plan_.keys) {
      if (key.key == "train.passes")
        fail(Code::kUsage, "--sweep-halving: the passes are what it changes, and --sweep does so too");
    }
    const std::vector<HalvingRound> rounds =
        halving_rounds(rows_.size(), make_(overrides_of(rows_[0].values)).train.passes);
    for (const HalvingRound& round : rounds) num_trainings_ += round.combinations;
    std::vector<size_t> chosen(rows_.size());
    std::iota(chosen.begin(), chosen.end(), size_t{0});
    for (const HalvingRound& round : rounds) {
      settle_diverged();
      if (&round != &rounds.front()) chosen = best_of(chosen, round.combinations);
      for (size_t row : chosen) {
        SweepRow trained{rows_[row].values, {}, {}, round.passes};
        if (!train(trained)) return;
        rows_[row] = std::move(trained);
      }
    }
  }

  // Returns the `count` best of the chosen rows, in the order of the table.
  std::vector<size_t> best_of(const std::vector<size_t>& chosen, size_t count) const {
    std::vector<SweepRow> rows;
    for (size_t row : chosen) rows.push_back(rows_[row]);
    std::vector<size_t> best;
    for (size_t index : rank_rows(rows, by_)) best.push_back(chosen[index]);
    best.resize(count);
    std::sort(best.begin(), best.end());
    return best;
  }

  // Fills in the row with all folds; false, and a row without figures, when the run is to stop.  A row of which a
  // training diverges has no figures either, and is not trained with further folds.
  bool train(SweepRow& row) {
    for (int fold = 0; fold < plan_.folds; ++fold) {
      try {
        if (train(row, fold)) continue;
      } catch (const Diverged& error) {
        log_.warning("run ", number_, " is left out: ", error.message());
        number_ += static_cast<size_t>(plan_.folds - fold - 1);
        diverged_ = error;
        row.diverged = true;
      }
      row.folds.clear();
      return row.diverged;
    }
    if (!defined_) defined_ = row.folds.front();
    return true;
  }

  // Gives rows that have diverged the figures of the others, all undefined.  Throws the error of the last of them if
  // there are no others.
  void settle_diverged() {
    if (!diverged_) return;
    if (!defined_) throw *diverged_;
    for (SweepRow& row : rows_) {
      if (row.diverged && row.folds.empty()) row.folds.push_back(undefined_figures(*defined_));
    }
  }

  // Trains one fold.  With folds, the validation data are a `folds`-th of the lines, another one for each
  // fold.  Each training saves to a folder of its own, which has its number.
  bool train(SweepRow& row, int fold) {
    std::vector<Override> overrides = overrides_of(row.values);
    if (row.passes > 0) overrides.push_back(override_of("train.passes", std::to_string(row.passes)));
    Job job = make_(overrides);
    check_can_repeat(job, "a sweep");
    if (plan_.folds > 1 && !job.data.validation_values.empty()) {
      fail(Code::kUsage,
           "--folds: data.validation_values say which examples are the validation data: leave "
           "out one of the two");
    }
    if (plan_.folds > 1) {
      job.data.validation = 1.0 / plan_.folds;
      job.data.fold = fold;
    }
    if (by_.empty()) by_ = job.train.best_by;
    if (!job.data.validates()) job.train.best_by = "cost";  // by_ then compares combinations, not passes
    const std::string folder = folder_of(job.train.save_dir, number_);
    job.train.save_dir = folder;
    job.checkpoint.directory = folder_of(job.checkpoint.directory, number_);
    log_.info("Run ", ++number_, " of ", num_trainings_ * static_cast<size_t>(plan_.folds), ": ",
              name_of(row, fold, plan_.folds));
    if (!run_job(job, options_, log_) || options_.stop()) return false;
    row.folds.push_back(sweep_figures(result_));
    row.models.push_back(folder);
    return true;
  }

  const SweepPlan& plan_;
  const std::function<Job(std::span<const Override>)>& make_;
  RunOptions options_;
  Log& log_;
  std::vector<SweepRow> rows_;           // rows without folds are not trained yet
  std::string by_;                       // the measure by which combinations are compared
  Json result_;                          // result of the last training
  std::optional<Diverged> diverged_;     // the error of the last training that has diverged
  std::optional<SweepFigures> defined_;  // figures of a training that has not
  size_t number_ = 0, num_trainings_ = 0;
};

}  // namespace

Json train_sweep(const SweepPlan& plan, const std::function<Job(std::span<const Override>)>& make,
                 const RunOptions& options, Log& log) {
  return SweepTraining(plan, make, options, log).run();
}

}  // namespace ps
