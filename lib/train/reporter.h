// Reporter: the output of a run for people and scripts: lines in the format of PaddlePaddle, a progress bar,
// and a file of JSON lines.  Used by Trainer and by the run of a job.
#ifndef PS_TRAIN_REPORTER_H_
#define PS_TRAIN_REPORTER_H_

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "cli/progress.h"
#include "config/fwd.h"
#include "train/measures.h"
#include "train/pass_times.h"
#include "train/progressive_loss.h"

namespace ps {

// One owner thread.
class Reporter {
 public:
  // `metrics` is a file for JSON lines, created or appended to, "-" for standard output, or empty.  Throws
  // kUsage if it cannot be created.
  Reporter(Log& log, ProgressMode progress, const std::string& metrics, bool append = false,
           std::function<double()> clock = monotonic_seconds);
  ~Reporter();

  void begin(const std::string& label);        // begins the progress bar of a pass or a test
  void advance(int64_t samples, double done);  // `done` is in [0, 1], or negative if unknown

  // Shows lines of batches at least this many seconds apart; metrics contain all of them.
  void space_batches(double seconds) { batch_period_ = seconds; }

  // Shows a table of costs at powers of two, "average-loss since-last examples", instead of lines of batches.
  // Metrics contain both.
  void show_progressive() { progressive_.emplace(); }

  // Calls `take` with every line for metrics, even if there is no file for them.
  void on_report(std::function<void(const Json&)> take) { take_ = std::move(take); }

  // Take the cost of the examples of a pass: begin_costs when it begins or is resumed, costs after each batch.
  void begin_costs(const CostTotals& before);
  void costs(int pass, const CostTotals& totals);

  // "Batch=… samples=… AvgCost=… CurrentCost=… Eval: … CurrentEval: …"
  void batch(int pass, int64_t batch, const Measures& whole, const Measures& current, double learning_rate,
             const PassTimes& times);

  // "Pass=… Batch=… samples=… AvgCost=… Eval: …"
  void pass(int pass, int64_t batches, const Measures& whole, const Json& times);

  // "Test samples=… cost=… Eval: …", or with another name of the data; the event is the name in lower case.
  void test(int pass, const Measures& measures, double seconds, const std::string& data = "Test");

  Log& log() { return log_; }

 private:
  bool shows_batch();
  void write_metrics(const Json& line);

  Log& log_;
  const ProgressMode mode_;
  const std::function<double()> clock_;
  double batch_period_ = 0, next_batch_ = 0;  // seconds between lines; time of the next line, by the clock
  std::unique_ptr<Progress> progress_;
  std::optional<ProgressiveLoss> progressive_;
  std::function<void(const Json&)> take_;
  bool has_heading_ = false;  // the heading of the table has been shown
  std::unique_ptr<std::FILE, void (*)(std::FILE*)> metrics_;
};

}  // namespace ps

#endif  // PS_TRAIN_REPORTER_H_
