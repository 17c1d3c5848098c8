#include "job/run.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "data/output.h"
#include "data/reader.h"
#include "job/class_names.h"
#include "job/convert.h"
#include "job/fingerprint.h"
#include "job/importance.h"
#include "job/run_page.h"
#include "job/task_run.h"
#include "job/test_intervals.h"
#include "job/train_run.h"

namespace ps {

namespace {

constexpr int kManyPasses = 2;  // with this many passes or more, readers keep the data in memory, if they fit

// Tests or predicts: reads a model and changes nothing.  One owner thread.
class ReadingRun final : TaskRun {
 public:
  ReadingRun(const Job& job, const RunOptions& options, ServerFinder& servers, Log& log)
      : TaskRun(job, options, servers, log) {}

  bool test();
  bool predict();

 private:
  bool measure_importance(const std::vector<std::string>& paths);

  // Asked after each batch, and while it waits for one.  Each call also tells the servers that this process lives.
  const std::function<bool()> stop_ = [this] {
    running_->keep_alive();
    return told_to_stop();
  };
};

// Tests on data.test_files, or on data.files if there are none.  The measurement of importance goes through
// the data once for each slot, so that readers are told of kManyPasses, and keep the data in memory if they
// fit.
bool ReadingRun::test() {
  const double start = monotonic_seconds();
  const auto& paths = job_.data.test_files.empty() ? job_.data.files : job_.data.test_files;
  input_.reader = data_.make_reader(paths, "none", options_.importance.empty() ? 1 : kManyPasses);
  build();
  if (say_plan()) return true;
  if (!options_.importance.empty()) return measure_importance(paths);
  Json result = {{"job", job_.job.name},
                 {"seed", job_.job.seed},
                 {"cpu", cpu_level_name(options_.cpu)},
                 {"passes", Json::array()}};
  result["test"] =
      test_model(options_, job_.job.seed, *network_, *trainer_, devices_.own, *input_.source, stop_);
  result["peak_memory_bytes"] = peak_memory_bytes();
  result["seconds"] = monotonic_seconds() - start;
  print_result(std::move(result));
  return !options_.stop();
}

// Measures the importance of slots.  The data are read once for each slot, and once more; a second reader gives
// the same examples in another order.
bool ReadingRun::measure_importance(const std::vector<std::string>& paths) {
  const bool standard_input = paths.empty() || std::ranges::find(paths, "-") != paths.end();
  if (standard_input || input_.reader->may_wait()) {
    fail(Code::kUsage, "--importance: a pipe cannot be read once for each slot: give files");
  }
  const std::unique_ptr<BatchReader> shuffled = data_.make_reader(paths, "window", kManyPasses);
  SwappedSlotSource swapped(*network_, *input_.reader, *shuffled);
  const Json importance =
      slot_importance(*trainer_, *network_, options_.importance, *input_.source, swapped, stop_);
  const std::string text = options_.json ? importance.dump() + "\n" : importance_text(importance);
  std::fputs(text.c_str(), stdout);
  return !options_.stop();
}

// Writes a line for each example, in the order of the input.  `open` turns false when the reader of the
// output has closed it, as head(1) does; that ends the run like a stop, without an error.
bool ReadingRun::predict() {
  input_.reader = data_.make_reader(job_.data.files, "none", 1);
  build();
  if (network_->predicts_costs() && !data_.options().labelled()) {
    fail(Code::kUsage, "data.labels: false, but what this network predicts is the cost of the label");
  }
  if (say_plan()) return true;
  OutputStream output(options_.output, Compression::kNone, /*binary=*/false);
  bool open = true;
  Trainer::AppendPredictions append;  // null: numbers
  if (options_.output_format == "names") {
    append = [names = ClassNames(data_.options(), network_->prediction_cols())](
                 std::span<const float> predictions, std::string& out) { names.append(predictions, out); };
  }
  int64_t samples = trainer_->predict(
      *input_.source, [&] { return !open || stop_(); },
      [&](std::string_view lines) { open = output.write(lines); }, append);
  output.finish();
  const DataOptions& data = data_.options();
  const std::vector<std::string>& classes =
      data.csv.classes.empty() ? data.fasttext.classes : data.csv.classes;
  const bool names = !classes.empty() && !data.has_own_labels();
  log_.info("Predicted samples=", samples, !names ? "" : cat(" of classes ", join(classes, ", ")));
  return !options_.stop();
}

bool run_task(const Job& job, const RunOptions& options, ServerFinder& servers, Log& log) {
  if (options.task == "train") return train_job(job, options, servers, log);
  if (options.task == "convert") return convert_data(job, options, log);
  ReadingRun run(job, options, servers, log);
  if (options.task == "test") return run.test();
  return run.predict();
}

}  // namespace

// Checks first that the process may have this part, before anything is opened.  Then it opens the page,
// which already shows the servers for which the process waits, and the finder of servers, which outlives
// the runs that go back to a checkpoint.
bool run_job(const Job& job, const RunOptions& asked, Log& log) {
  RunOptions options = asked;
  check_part(job, options);
  check_role(job, options);
  std::optional<RunPage> page;
  if (options.status_port && !options.dry_run) {
    page.emplace(job, options, log);
    options.on_report = [&page](const Json& report) { page->add(report); };
  }
  const ClusterOptions& cluster = job.cluster;
  ServerFinder servers({.servers = server_addresses(job),
                        .discovery = cluster.discovery,
                        .tls = options.security.etcd,
                        .num_servers = cluster.num_servers,
                        .timeout = cluster.server_timeout,
                        .stop = options.stop,
                        .on_missing = [missing = options.missing_servers](
                                          const std::string& message) { missing->note("", message); }},
                       log);
  try {
    return run_task(job, options, servers, log);
  } catch (const WaitStopped& stopped) {
    log.info(stopped.message());
    return false;
  }
}

}  // namespace ps
