#include "bench/accuracy/program.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "bench/accuracy/report.h"
#include "bench/accuracy/trial_run.h"
#include "bench/accuracy/trials.h"
#include "bench/process/child.h"
#include "bench/row_output.h"
#include "cli/interrupts.h"
#include "cli/progress.h"

namespace ps {

namespace {

constexpr int64_t kSomeSteps = 100;  // to check trials by, before the number of steps is known
constexpr int64_t kMostTrialRanks = 64, kMostSeed = INT64_MAX;

std::vector<Flag> training_flags() {
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
       .group = "training"}};
}

std::vector<Flag> comparing_flags() {
  return {{.name = "seeds",
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
           .group = "comparing"}};
}

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

// The trials of the strategies that are asked for.
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
    job = {.job = words[0], .data = *flags.text("data"), .test_data = *flags.text("test-data")};
  }
  job.measure = flags.text("measure").value_or("");
  job.passes = flags.integer("passes", 1, 1000000);
  job.ranks = static_cast<int>(*flags.integer("ranks", 2, kMostTrialRanks));
  return job;
}

// Trains one trial with every seed, as far as nobody interrupts.  Returns the steps of the last training.
class TrialTable {
 public:
  TrialTable(std::string job, int ranks, TrialRunner& runner, RowOutput& output, Log& log)
      : job_(std::move(job)), ranks_(ranks), runner_(runner), output_(output), log_(log) {}

  int64_t run(const AccuracyTrial& trial, const std::vector<int64_t>& seeds, const Interrupts& interrupts) {
    int64_t steps = 0;
    for (int64_t seed : seeds) {
      if (interrupts.requested()) break;
      const std::optional<TrialResult> done = try_run(trial, seed, interrupts);
      if (!done) break;
      const TrialResult& result = *done;
      steps = result.steps;
      log_.info(trial.name, ", seed ", seed, ": ", result.measure, " ", significant(result.value, 4), " in ",
                significant(result.seconds, 3), " s");
      output_.add({{{"suite", "accuracy"},
                    {"job", job_},
                    {"strategy", trial.name},
                    {"ranks", ranks_},
                    {"seed", seed},
                    {"measure", result.measure},
                    {"value", result.value},
                    {"steps", result.steps},
                    {"bytes_sent", result.bytes_sent},
                    {"seconds", result.seconds}}});
    }
    return steps;
  }

 private:
  // Nothing when the trainers, which get the same signal, have ended early with this process.
  std::optional<TrialResult> try_run(const AccuracyTrial& trial, int64_t seed, const Interrupts& interrupts) {
    try {
      return runner_.run(trial.strategy, seed);
    } catch (const Error& error) {
      if (!interrupts.requested()) throw error.within(trial.name);
      return std::nullopt;
    }
  }

  const std::string job_;
  const int ranks_;
  TrialRunner& runner_;
  RowOutput& output_;
  Log& log_;
};

}  // namespace

Program accuracy_program() {
  std::vector<Flag> flags = training_flags();
  for (Flag& flag : comparing_flags()) flags.push_back(std::move(flag));
  for (Flag& flag : row_output_flags()) flags.push_back(std::move(flag));
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

int run_accuracy(const Flags& flags, Log& log) {
  const std::vector<int64_t> seeds = seeds_of(flags);
  const TemporaryFolder folder(default_temporary_parent());
  const AccuracyJob job = read_job(flags, folder);
  RowOutput output(flags);
  Interrupts interrupts("ps-bench", "ending after this training; press Ctrl-C again to end at once");
  TrialRunner runner(job, program_folder(), folder);
  for (const AccuracyTrial& trial : chosen_trials(flags, kSomeSteps)) runner.check(trial.strategy);
  TrialTable table(flags.positionals().empty() ? "generated clicks" : job.job, job.ranks, runner, output,
                   log);
  const int64_t steps = table.run(dense_trial(), seeds, interrupts);
  for (const AccuracyTrial& trial : chosen_trials(flags, steps)) table.run(trial, seeds, interrupts);
  output.end(accuracy_document, accuracy_report);
  return interrupts.exit_status();
}

}  // namespace ps
