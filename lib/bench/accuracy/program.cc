#include "bench/accuracy/program.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "bench/accuracy/accuracy_rows.h"
#include "bench/accuracy/report.h"
#include "bench/accuracy/trial_run.h"
#include "bench/accuracy/trial_team.h"
#include "bench/accuracy/trials.h"
#include "bench/process/child.h"
#include "bench/row_output.h"
#include "bench/saved_rows.h"
#include "cli/interrupts.h"
#include "cli/progress.h"

namespace ps {

namespace {

constexpr int64_t kSomeSteps = 100;  // enough to check trials by, before the number of steps is known
constexpr int64_t kMostTrialRanks = 64, kMostParallel = 64, kMostSeed = INT64_MAX;

// Returns the flags of a run, grouped as in --help.
std::vector<Flag> trial_flags() {
  return {
      {.name = "data", .argument = "FILE", .help = "examples that the trainers share", .group = "training"},
      {.name = "test-data",
       .argument = "FILE",
       .help = "examples that the models are tested on",
       .group = "training"},
      {.name = "samples",
       .argument = "N",
       .help = "without JOB.json: examples that are generated",
       .details = "A third as many are generated for the test.",
       .group = "training",
       .default_text = "60000"},
      {.name = "ranks", .argument = "N", .help = "trainers", .group = "training", .default_text = "4"},
      {.name = "passes",
       .argument = "N",
       .help = "over the data; default: those of the job",
       .group = "training"},
      {.name = "parallel",
       .argument = "N",
       .help = "trainings at a time, each with its trainers",
       .group = "training",
       .default_text = "1"}};
}

std::vector<Flag> comparing_flags() {
  return {
      {.name = "seeds",
       .argument = "S,...",
       .help = "seeds of each strategy's trainings",
       .group = "comparing",
       .default_text = "1,2,3"},
      {.name = "strategies",
       .argument = "TYPE,...",
       .help = "strategies beside all_reduce; default: all",
       .group = "comparing"},
      {.name = "measure",
       .argument = "NAME",
       .help = "value of an evaluator to compare by; default: the first of the job",
       .group = "comparing"},
      {.name = "join",
       .argument = "FILE,...",
       .help = "train nothing: tables of rows that were saved",
       .details = "One table for each job, of the lines of --save or --json-stream of any number of runs.",
       .group = "comparing"}};
}

// Returns the numbers of --seeds, at least one.  Throws kUsage for others than numbers from 0 on.
std::vector<int64_t> seeds_of(const Flags& flags) {
  std::vector<int64_t> seeds;
  for (const std::string& text : flags.list("seeds")) {
    const std::optional<int64_t> seed = parse_int(text);
    if (!seed || *seed < 0) flags.refuse("seeds", cat(quote(text), " is not a number from 0 to ", kMostSeed));
    seeds.push_back(*seed);
  }
  if (seeds.empty()) flags.refuse("seeds", "expected at least one number");
  return seeds;
}

// Returns the trials of the strategies that --strategies names, or all trials without it.
std::vector<AccuracyTrial> chosen_trials(const Flags& flags, int64_t steps) {
  std::vector<AccuracyTrial> trials = accuracy_trials(steps);
  const std::vector<std::string> types = flags.list("strategies");
  if (types.empty()) return trials;
  auto type_of = [](const AccuracyTrial& trial) { return trial.strategy.at("type").get<std::string>(); };
  for (const std::string& type : types) {
    std::vector<std::string> names;
    for (const AccuracyTrial& trial : trials) names.push_back(type_of(trial));
    if (std::find(names.begin(), names.end(), type) == names.end())
      flags.refuse("strategies", cat("there is no ", quote(type), did_you_mean(type, names)));
  }
  std::erase_if(trials, [&](const AccuracyTrial& trial) {
    return std::find(types.begin(), types.end(), type_of(trial)) == types.end();
  });
  return trials;
}

// Without a job file, the job and its data are generated into `folder`.  Throws kUsage unless the data for
// training and test come together with a job file.
AccuracyJob read_job(const Flags& flags, const TemporaryFolder& folder) {
  const std::vector<std::string>& words = flags.positionals();
  if (words.size() > 1) fail(Code::kUsage, "expected one job file, found also ", quote(words[1]));
  AccuracyJob job;
  if (words.empty()) {
    for (const char* name : {"data", "test-data"}) {
      if (flags.text(name)) flags.refuse(name, "give a job file with it");
    }
    job = generated_accuracy_job(program_folder(), folder, *flags.integer("samples", 1, 1000000000));
  } else {
    if (!flags.text("data")) fail(Code::kUsage, "give --data FILE for ", quote(words[0]));
    if (!flags.text("test-data")) fail(Code::kUsage, "give --test-data FILE for ", quote(words[0]));
    job = {.name = accuracy_job_name(words[0]),
           .job = words[0],
           .data = *flags.text("data"),
           .test_data = *flags.text("test-data")};
  }
  job.measure = flags.text("measure").value_or("");
  job.passes = flags.integer("passes", 1, 1000000);
  job.ranks = static_cast<int>(*flags.integer("ranks", 2, kMostTrialRanks));
  return job;
}

// The trainings of one table.  Rows of earlier runs may be known from the beginning.  One owner thread.
class AccuracyRun {
 public:
  AccuracyRun(AccuracyJob job, std::vector<int64_t> seeds, SavedRows known, const Flags& flags)
      : job_(std::move(job)),
        seeds_(std::move(seeds)),
        known_(known.rows),
        output_(flags, std::move(known)) {}

  // Trains what has no known row: every trial with every seed.
  void run(const std::vector<AccuracyTrial>& trials, TrialTeam& team, const Interrupts& interrupts,
           Log& log) {
    std::vector<Training> trainings;
    for (int64_t seed : seeds_) {
      for (const AccuracyTrial& trial : trials) {
        if (find_known(trial, seed) == nullptr) trainings.push_back({trial, seed});
      }
    }
    team.run(trainings, interrupts, log, [&](const Training& training, const TrialResult& result) {
      log.info(training.trial.name, ", seed ", training.seed, ": ", result.measure, " ",
               significant(result.value, 4), " in ", significant(result.seconds, 3), " s");
      known_.push_back(accuracy_row(job_, training.trial.name, training.seed, result));
      output_.add({known_.back()});
    });
  }

  // Returns the steps of each trainer in a training of dense_trial(), or nullopt if no row of one is known.
  std::optional<int64_t> steps() const {
    const Json* row = find_known(dense_trial(), seeds_.front());
    return row == nullptr ? std::nullopt : std::optional(row->at("steps").get<int64_t>());
  }

  void end() const { output_.end(accuracy_document, accuracy_report); }

 private:
  const Json* find_known(const AccuracyTrial& trial, int64_t seed) const {
    for (const Json& row : known_) {
      if (is_row_of(row, job_, trial.name, seed)) return &row;
    }
    return nullptr;
  }

  const AccuracyJob job_;
  const std::vector<int64_t> seeds_;
  std::vector<Json> known_;
  RowOutput output_;
};

// Prints the tables of rows in files, and trains nothing.
int join_accuracies(const Flags& flags) {
  if (!flags.positionals().empty()) flags.refuse("join", "give no job file with it: nothing is trained");
  const SavedRows saved = read_saved_rows(flags.list("join"), "accuracy");
  if (saved.rows.empty()) flags.refuse("join", "the files have no results");
  RowOutput(flags, saved).end(accuracy_document, accuracy_report);
  return 0;
}

}  // namespace

// Flags are not read from the environment, since its variables describe a cluster that exists.
Program accuracy_program() {
  std::vector<Flag> flags = trial_flags();
  for (Flag& flag : comparing_flags()) flags.push_back(std::move(flag));
  for (Flag& flag : row_output_flags()) flags.push_back(std::move(flag));
  flags.push_back(resume_flag());
  for (Flag& flag : flags) flag.environment = false, flag.brief = true;
  return {.name = "ps-bench accuracy",
          .summary = "how good the models of strategies are, and how many bytes they send",
          .synopsis = "[JOB.json --data FILE --test-data FILE] [flags]",
          .positionals = {{.name = "JOB.json",
                           .help = "the job file; none: one on generated data",
                           .required = false}},
          .flags = with_common_flags(std::move(flags), {"json", "log-level"}),
          .examples = {{"ps-bench accuracy", "a network on generated clicks, in some minutes"},
                       {"ps-bench accuracy --strategies dgc,diloco --seeds 1", "two strategies, once"},
                       {"ps-bench accuracy JOB.json --data train.txt --test-data test.txt", "your own"}}};
}

// All strategies are checked before anything is trained, since a mistake should not show after an hour.
// The dense training comes first: its number of steps decides on warm-ups and intervals of the others.
// When the user interrupts it, there is no such number, and what is there is printed.
int run_accuracy(const Flags& flags, Log& log) {
  if (flags.given("join")) return join_accuracies(flags);
  const TemporaryFolder folder(default_temporary_parent());
  const AccuracyJob job = read_job(flags, folder);
  AccuracyRun table(job, seeds_of(flags), rows_to_resume(flags, "accuracy"), flags);
  Interrupts interrupts("ps-bench", "ending after these trainings; press Ctrl-C again to end at once");
  TrialTeam team(job, static_cast<int>(*flags.integer("parallel", 1, kMostParallel)), program_folder(),
                 folder);
  for (const AccuracyTrial& trial : chosen_trials(flags, kSomeSteps)) team.check(trial);
  table.run({dense_trial()}, team, interrupts, log);
  if (const std::optional<int64_t> steps = table.steps())
    table.run(chosen_trials(flags, *steps), team, interrupts, log);
  table.end();
  return interrupts.exit_status();
}

}  // namespace ps
