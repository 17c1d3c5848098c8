#include "job/sweep_training.h"

#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "job/fingerprint.h"

namespace ps {

namespace {

std::vector<Override> overrides_of(const SweepRun& run) {
  std::vector<Override> all;
  for (const auto& [key, value] : run.values)
    all.push_back({.key = key, .values = {value}, .is_set = true, .typed = "--sweep"});
  return all;
}

void check_can_sweep(const Job& job) {
  if (has_servers(job) || job.cluster.trainers > 1 || !job.cluster.compute.empty())
    fail(Code::kUsage, "a sweep trains in one process: the job names others, in cluster");
  if (reads_standard_input(job))
    fail(Code::kUsage,
         "a sweep reads its data several times, and standard input can be read once: give files");
}

std::string folder_of(const Job& job, size_t number) {
  if (job.train.save_dir.empty()) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%03zu", number);
  return join_path(job.train.save_dir, text);
}

// "optimizer.learning_rate=0.1 fold 2 of 5"
std::string name_of(const SweepRun& run, int folds) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : run.values) parts.push_back(cat(key, "=", value));
  if (folds > 1) parts.push_back(cat("fold ", run.fold + 1, " of ", folds));
  return join(parts, " ");
}

}  // namespace

Json train_sweep(const SweepPlan& plan, const std::function<Job(std::span<const Override>)>& make,
                 const RunOptions& options, Log& log) {
  const std::vector<SweepRun> runs = sweep_runs(plan.keys, plan.folds);
  std::vector<SweepRow> rows;
  std::string by;
  RunOptions own = options;
  Json result;
  own.take_result = [&](const Json& taken) { result = taken; };
  for (size_t r = 0; r < runs.size(); ++r) {
    Job job = make(overrides_of(runs[r]));
    check_can_sweep(job);
    if (plan.folds > 1) {
      job.data.validation = 1.0 / plan.folds;
      job.data.fold = runs[r].fold;
    }
    if (by.empty()) by = job.train.best_by;
    if (job.data.validation == 0) job.train.best_by = "cost";  // of no pass, but of the combinations
    const std::string folder = folder_of(job, r);
    job.train.save_dir = folder;
    log.info("Run ", r + 1, " of ", runs.size(), ": ", name_of(runs[r], plan.folds));
    if (!run_job(job, own, log) || options.stop()) break;
    if (runs[r].fold == 0) rows.push_back({runs[r].values, {}, {}});
    rows.back().folds.push_back(sweep_figures(result));
    rows.back().models.push_back(folder);
  }
  if (!rows.empty() && rows.back().folds.size() < static_cast<size_t>(plan.folds)) rows.pop_back();
  if (rows.empty()) return {};
  return sweep_result(rows, by);
}

}  // namespace ps
