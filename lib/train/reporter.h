// Reporter: what people and scripts see of a run: lines as PaddlePaddle's users know them, a progress bar, a
// file of JSON lines.
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

// Owner thread only.
class Reporter {
 public:
  // `metrics` is a file for JSON lines, made anew or appended to, "-" standard output, or empty.  Throws
  // kUsage when it cannot be made.
  Reporter(Log& log, ProgressMode progress, const std::string& metrics, bool append = false,
           std::function<double()> clock = monotonic_seconds);
  ~Reporter();

  void begin(const std::string& label);        // a pass or a test, for the bar
  void advance(int64_t samples, double done);  // `done` in [0, 1], or negative when unknown

  // Lines of batches are shown only so many seconds after the one before; metrics have all of them.
  void space_batches(double seconds) { batch_period_ = seconds; }

  // Lines of batches give way to a table of costs at powers of two: "average-loss since-last examples".  Metrics have both.
  void show_progressive() { progressive_.emplace(); }

  // `take` gets every line that is for metrics, also where there is no file for them.
  void on_report(std::function<void(const Json&)> take) { take_ = std::move(take); }

  // The cost of the examples of a pass, when it begins or is taken up, and after each batch.
  void begin_costs(const CostTotals& before);
  void costs(int pass, const CostTotals& totals);

  // "Batch=… samples=… AvgCost=… CurrentCost=… Eval: … CurrentEval: …"
  void batch(int pass, int64_t batch, const Measures& whole, const Measures& current, double learning_rate,
             const PassTimes& times);

  // "Pass=… Batch=… samples=… AvgCost=… Eval: …"
  void pass(int pass, int64_t batches, const Measures& whole, const Json& times);

  // "Test samples=… cost=… Eval: …", or with another name of the data; the event has the name in small letters.
  void test(int pass, const Measures& measures, double seconds, const std::string& data = "Test");

  Log& log() { return log_; }

 private:
  bool shows_batch();
  void write_metrics(const Json& line);

  Log& log_;
  const ProgressMode mode_;
  const std::function<double()> clock_;
  double batch_period_ = 0, next_batch_ = 0;  // seconds; of the clock
  std::unique_ptr<Progress> progress_;
  std::optional<ProgressiveLoss> progressive_;
  std::function<void(const Json&)> take_;
  bool has_heading_ = false;  // of the table
  std::unique_ptr<std::FILE, void (*)(std::FILE*)> metrics_;
};

}  // namespace ps

#endif  // PS_TRAIN_REPORTER_H_
