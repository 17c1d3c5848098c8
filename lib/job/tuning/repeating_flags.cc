#include "job/tuning/repeating_flags.h"

#include <cstdio>
#include <optional>
#include <span>
#include <string>

#include "config/json.h"
#include "job/job_flags.h"
#include "job/tuning/rate_finder.h"
#include "job/tuning/sweep_training.h"

namespace ps {

const char* repeating_flag(const Flags& flags) {
  for (const char* name : {"sweep-samples", "sweep-halving"}) {
    if (flags.given(name) && !flags.given("sweep")) flags.refuse(name, "goes with --sweep");
  }
  for (const char* name : {"find-rate", "sweep", "folds"}) {
    if (flags.given(name)) return name;
  }
  return nullptr;
}

namespace {

// Refuses flags that stand for a single training: the trainings would write to one file, or go on from each
// other.
void check_repeats(const Flags& flags, const RunOptions& options) {
  const char* name = repeating_flag(flags);
  if (options.task != "train") flags.refuse(name, "is of --job train");
  const bool reports = !options.metrics.empty() || options.progressive || options.status_port;
  if (options.resume || reports || flags.on("print-config") || options.dry_run)
    flags.refuse(name,
                 "goes with none of --resume, --metrics, --progressive, --status-port, --print-config and "
                 "--dry-run");
  if (flags.given("find-rate") && (flags.given("sweep") || flags.given("folds")))
    flags.refuse(name, "goes with neither --sweep nor --folds");
}

// Returns a function that makes the job again for each training, with further overrides.
auto job_maker(const Flags& flags, Log& log) {
  return [&](std::span<const Override> more) {
    InputHead head;
    return job_of_flags(flags, std::nullopt, more, head, log).value();
  };
}

// Trains once for each combination of values and each fold, and prints a table.
void run_sweep(const Flags& flags, const RunOptions& options, Log& log) {
  SweepPlan plan;
  for (const std::string& text : flags.values("sweep")) plan.keys.push_back(parse_swept_key(text));
  plan.folds = static_cast<int>(flags.integer("folds", 2, 100).value_or(1));
  plan.samples = flags.integer("sweep-samples", 1, 10000).value_or(0);
  plan.halving = flags.on("sweep-halving");
  const Json result = train_sweep(plan, job_maker(flags, log), options, log);
  if (result.is_null()) return;
  std::fputs(options.json ? (result.dump() + "\n").c_str() : sweep_table(result).c_str(), stdout);
}

void run_rate_finder(const Flags& flags, const RunOptions& options, Log& log) {
  const RateRange range = parse_rate_range(*flags.text("find-rate"));
  const std::optional<RateFinding> found = find_rate(range, job_maker(flags, log), options, log);
  if (!found) return;
  std::fputs(options.json ? (rate_result(*found).dump() + "\n").c_str() : rate_table(*found).c_str(), stdout);
}

}  // namespace

void run_repeatedly(const Flags& flags, const RunOptions& options, Log& log) {
  check_repeats(flags, options);
  flags.given("find-rate") ? run_rate_finder(flags, options, log) : run_sweep(flags, options, log);
}

}  // namespace ps
