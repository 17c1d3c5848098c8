// ps-bench: runs the benchmarks of pskit and sets their results beside the limits of the machine and beside
// other projects' implementations.  ps-bench(1)
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "bench/accuracy/program.h"
#include "bench/bars_report.h"
#include "bench/catalog.h"
#include "bench/gpu/suite.h"
#include "bench/link/plan_check_program.h"
#include "bench/link/program.h"
#include "bench/plan/program.h"
#include "bench/process/child.h"
#include "bench/report.h"
#include "cli/cpu_flag.h"
#include "cli/interrupts.h"
#include "cli/main.h"
#include "cli/progress.h"
#include "config/json.h"

namespace {

using namespace ps;

std::vector<std::string> suite_choices() {
  std::vector<std::string> names = suite_names();
  names.push_back("all");
  return names;
}

// Describes the command line of the program, as --help prints it: flags by group, then examples.
Program program() {
  return {
      .name = "ps-bench",
      .summary = "measure every part, beside the limits of the machine and what others do",
      .synopsis =
          "SUITE... [flags] | plan JOB.json [flags] | plan-check | dgc --bandwidth B,... [flags] | local-sgd "
          "| "
          "scaling | accuracy",
      .positionals = {{.name = "SUITE",
                       .help = "what to measure; --list names the benchmarks",
                       .choices = suite_choices(),
                       .repeatable = true}},
      .flags = with_common_flags(
          {
              {.name = "runs",
               .letter = 'n',
               .argument = "N",
               .help = "timed runs of each benchmark, after one that is checked",
               .group = "measuring",
               .default_text = "5",
               .brief = true},
              {.name = "threads",
               .argument = "T,...",
               .help = "numbers of threads to measure at",
               .group = "measuring",
               .default_text = "1,2",
               .brief = true},
              {.name = "size",
               .argument = "S",
               .help = "tiny, small, full, or a factor for the sizes of data",
               .details = "Full is 1, what results are quoted at, and the default with --bars and "
                          "--baseline: it takes minutes and gigabytes.  Small is 0.01, enough to see it run; "
                          "tiny is 0.0001, for an emulated device.",
               .group = "measuring",
               .default_text = "small",
               .brief = true},
              {.name = "device",
               .argument = "D",
               .help = "GPU of the suite gpu: cuda:N, or emulated",
               .details = "Emulated is the same code on the processor: its answers are checked, and its "
                          "times mean nothing.  See ps-gpu(7).",
               .group = "measuring",
               .default_text = "cuda:0"},
              {.name = "filter",
               .argument = "TEXT",
               .help = "only benchmarks with TEXT in their names",
               .details = "The limits and peers that they are set beside are measured too.",
               .group = "measuring",
               .brief = true},
              {.name = "scratch",
               .argument = "DIR",
               .help = "folder for the files of benchmarks; default: the current one",
               .details =
                   "Those of disk benchmarks have no name, and are gone at the end however it comes; those "
                   "of whole programs are in a folder that is removed.",
               .group = "measuring"},
              {.name = "cache",
               .argument = "DIR",
               .help = "folder for data that is made once, and kept; default: one for temporary files",
               .details =
                   "Whole programs read it: about 2 GB at full size.  The default is ps-bench- and the "
                   "number of the user, in the folder for temporary files.",
               .group = "measuring"},
              {.name = "bars",
               .help = "measure what has a bar, and print how it stands",
               .details =
                   "A bar is what the project is held to, at full size: a bound that must be met, and one "
                   "that is wanted.  Each line tells the median, both bounds, the verdict, the share of "
                   "the limit, and what peers did in the same run or, where they did not run, what is "
                   "stated of them elsewhere.  The limits of the run follow.  The exit status does not "
                   "depend on the verdicts.",
               .group = "output",
               .brief = true},
              {.name = "markdown", .help = "print the bars as a table of Markdown", .group = "output"},
              {.name = "list",
               .help = "describe the benchmarks, and end",
               .brief = true,
               .standalone = true,
               .environment = false},
              {.name = "json-stream",
               .help = "print the machine, then each result as it comes, as a line of JSON",
               .group = "output"},
              {.name = "baseline",
               .argument = "FILE",
               .help = "compare with a former run, printed by --json",
               .group = "output",
               .brief = true},
              {.name = "fail-below",
               .argument = "R",
               .help = "end with status 9 when a rate is below R times the baseline's",
               .details = "Rates are compared by their medians.",
               .group = "output"},
          },
          {"cpu", "json", "progress", "log-level"}),
      .examples = {{"ps-bench limits", "what this machine can do"},
                   {"ps-bench all --json > base.json", "keep the numbers"},
                   {"ps-bench all --baseline base.json --fail-below 0.9", "compare with them"},
                   {"ps-bench all --bars --markdown", "the table of the README"},
                   {"ps-bench plan JOB.json --ranks 8 --bandwidth 10G",
                    "what a cluster would do; see ps-bench plan --help"},
                   {"ps-bench dgc --bandwidth 10G,1G", "what bandwidth costs; also local-sgd, scaling"}},
  };
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int list_benchmarks() {
  for (const Benchmark& benchmark : benchmark_catalog())
    print(cat(benchmark.name, "\n    ", benchmark.help, "\n"));
  return 0;
}

// Returns the numbers of --threads, with each of which benchmarks are run.
std::vector<int> thread_counts(const Flags& flags) {
  std::vector<int> counts;
  for (const std::string& text : flags.list("threads")) {
    std::optional<int64_t> count = parse_int(text);
    if (!count || *count < 1 || *count > 1024) {
      flags.refuse("threads", cat(quote(text), " is not a number of threads, from 1 to 1024"));
    }
    counts.push_back(static_cast<int>(*count));
  }
  if (counts.empty()) flags.refuse("threads", "expected at least one number");
  return counts;
}

// Returns the factor by which benchmarks are shrunk or grown.  Bars hold at full size, and so do
// comparisons with a baseline, so these flags change the default.
double size_factor(const Flags& flags) {
  const bool quoted = flags.on("bars") || flags.given("baseline");
  const std::string text = quoted && !flags.given("size") ? "full" : *flags.text("size");
  if (text == "full") return 1;
  if (text == "small") return 0.01;
  if (text == "tiny") return 0.0001;
  std::optional<double> factor = parse_double(text);
  if (!factor || *factor <= 0 || *factor > 100) {
    flags.refuse("size", cat(quote(text), " is not tiny, small, full or a factor up to 100"));
  }
  return *factor;
}

std::optional<Baseline> read_baseline(const Flags& flags) {
  std::optional<std::string> path = flags.text("baseline");
  if (!path) {
    if (flags.given("fail-below")) flags.refuse("fail-below", "needs --baseline FILE");
    return std::nullopt;
  }
  return Baseline(parse_json(read_file(*path), *path), *path);
}

// Returns the device of --device.  An error names the flag, before any benchmark has run.
std::string bench_device(const Flags& flags) {
  const std::string device = *flags.text("device");
  try {
    check_bench_device(device);
  } catch (const Error& error) {
    flags.refuse("device", error.message());
  }
  return device;
}

// Describes the machine, and its GPU if one of the tasks measures it.
Machine machine_of(const Flags& flags, std::span<const Task> tasks) {
  Machine machine = this_machine(cpu_level(flags));
  const auto on_device = [](const Task& task) { return task.benchmark->suite() == "gpu"; };
  if (std::any_of(tasks.begin(), tasks.end(), on_device))
    machine.device = describe_bench_device(bench_device(flags));
  return machine;
}

// Returns the folder of cached data: that of --cache, else a folder that only this user can access, since
// its files are used unchecked.
std::string cache_folder(const Flags& flags) {
  if (std::optional<std::string> folder = flags.text("cache")) return *folder;
  std::string folder = (std::filesystem::temp_directory_path() / cat("ps-bench-", getuid())).string();
  make_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  return folder;
}

// Prints results in the form that the flags ask for: tables and streams as results come in, documents and
// bars at the end.  One owner thread.
class Output {
 public:
  Output(const Flags& flags, std::span<const Task> tasks, double scale, int runs, bool has_baseline)
      : tasks_(tasks),
        table_(tasks, has_baseline),
        machine_(machine_of(flags, tasks)),
        scale_(scale),
        runs_(runs),
        bars_(flags.on("bars")),
        markdown_(flags.on("markdown")) {
    kind_ = flags.on("json-stream") ? kStream : flags.on("json") ? kDocument : bars_ ? kBars : kTable;
    if (kind_ == kStream && flags.on("json")) flags.refuse("json-stream", "give this or --json");
    if (markdown_ && kind_ != kBars) flags.refuse("markdown", "needs --bars, and no --json or --json-stream");
  }

  void begin() const {
    if (kind_ == kTable) print(table_.header(machine_, scale_, runs_));
    if (kind_ == kStream) print(cat(Json{{"machine", machine_.json()}}.dump(), "\n"));
  }

  void add(const Result& result) const {
    if (kind_ == kTable) print(table_.row(result));
    if (kind_ == kStream) print(cat(result_json(result).dump(), "\n"));
  }

  void end(std::span<const Result> results) const {
    if (kind_ == kBars) print(bars_report(machine_, scale_, runs_, tasks_, results, markdown_));
    if (kind_ != kDocument) return;
    Json out = document(machine_, scale_, runs_, results);
    if (bars_) out["bars"] = bars_json(tasks_, results, scale_);
    print(cat(out.dump(2), "\n"));
  }

 private:
  enum { kTable, kBars, kDocument, kStream } kind_;
  const std::span<const Task> tasks_;
  const ReportTable table_;
  const Machine machine_;
  const double scale_;
  const int runs_;
  const bool bars_, markdown_;
};

// Returns the exit status of --fail-below: kBelowBar if the rate of a result is below the bar, else 0.
int judge(const std::optional<double>& bar, std::span<const Result> results, Log& log) {
  if (!bar) return 0;
  std::vector<std::string> lines = below_bar(results, *bar);
  for (const std::string& line : lines) log.error(line);
  return lines.empty() ? 0 : static_cast<int>(Code::kBelowBar);
}

// Runs the tasks one by one, and prints each result as it comes.  The flags that choose the tasks are read
// first, so that a mistake in them does not wait for minutes of measuring.  After an interruption the
// results so far are still printed, but not judged, since rates that are missing would pass.
int run(const Flags& flags, Log& log) {
  if (flags.on("list")) return list_benchmarks();
  const std::vector<Benchmark> catalog = benchmark_catalog();
  const double scale = size_factor(flags);
  const int runs = static_cast<int>(*flags.integer("runs", 1, 1000000));
  std::optional<Baseline> baseline = read_baseline(flags);
  const std::optional<double> bar = flags.number("fail-below", 0);
  std::vector<Task> tasks = plan_tasks(catalog, flags.positionals(), flags.text("filter").value_or(""),
                                       thread_counts(flags), flags.on("bars"));
  Output output(flags, tasks, scale, runs, baseline.has_value());
  Interrupts interrupts("ps-bench", "ending after this benchmark; press Ctrl-C again to end at once");
  Progress progress(log, progress_mode(flags),
                    {"measuring", "benchmarks", static_cast<double>(tasks.size())});

  Runner runner({.scale = scale,
                 .cpu = cpu_level(flags),
                 .scratch = flags.text("scratch").value_or("."),
                 .cache = cache_folder(flags),
                 .programs = program_folder(),
                 .device = bench_device(flags),
                 .clock = monotonic_seconds},
                runs);
  std::vector<Result> results;
  output.begin();
  for (const Task& task : tasks) {
    if (interrupts.requested()) break;
    Result result = runner.run(task);
    if (baseline) baseline->compare(result);
    output.add(result);
    results.push_back(std::move(result));
    progress.update(static_cast<double>(results.size()));
  }
  progress.finish();
  output.end(results);
  return interrupts.requested() ? interrupts.exit_status() : judge(bar, results, log);
}

}  // namespace

// Some first words are programs of their own, with flags and a --help of their own: plan, accuracy,
// plan-check, and the suites of links such as dgc.  Their arguments begin after that word.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "plan")
    return run_main(plan_program, argc - 1, argv + 1, run_plan);
  if (argc > 1 && std::string_view(argv[1]) == "accuracy")
    return run_main(accuracy_program, argc - 1, argv + 1, run_accuracy);
  if (argc > 1 && std::string_view(argv[1]) == "plan-check")
    return run_main(plan_check_program, argc - 1, argv + 1, run_plan_check);
  const std::span<const char* const> words(argv + 1, static_cast<size_t>(std::max(argc - 1, 0)));
  if (const std::optional<LinkSuite> suite = find_link_suite(words)) {
    return run_main([&] { return link_program(*suite); }, argc - 1, argv + 1,
                    [&](const Flags& flags, Log& log) { return run_link_suite(*suite, flags, log); });
  }
  return run_main(program, argc, argv, run);
}
