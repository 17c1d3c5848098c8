#include "train/reporter.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "config/json.h"
#include "train/figure.h"

namespace ps {

static std::FILE* open_metrics(const std::string& path, bool append) {
  if (path.empty()) return nullptr;
  if (path == "-") return stdout;
  std::FILE* file = std::fopen(path.c_str(), append ? "a" : "w");
  if (file == nullptr) fail_errno(Code::kUsage, "cannot create metrics file", path, errno);
  return file;
}

// Returns a line of three columns, which are wide enough for ten digits.
static std::string progressive_line(const std::string& average, const std::string& since_last,
                                    const std::string& examples) {
  constexpr size_t kWidth = 13;
  std::string line;
  for (const std::string* cell : {&average, &since_last, &examples})
    line += std::string(kWidth - std::min(kWidth, cell->size()), ' ') + *cell;
  return line;
}

Reporter::Reporter(Log& log, ProgressMode progress, const std::string& metrics, bool append,
                   std::function<double()> clock)
    : log_(log),
      mode_(progress),
      clock_(std::move(clock)),
      metrics_(open_metrics(metrics, append), [](std::FILE* file) {
        if (file != nullptr && file != stdout) std::fclose(file);
      }) {}

Reporter::~Reporter() = default;

void Reporter::begin(const std::string& label) {
  progress_ = std::make_unique<Progress>(log_, mode_, ProgressTask{label, "samples", 0});
}

void Reporter::advance(int64_t samples, double done) {
  double count = static_cast<double>(samples);
  if (progress_) progress_->update(count, done > 0 ? count / done : 0);
}

// Returns true if the line of a batch is to be shown.  The first one is shown at once.
bool Reporter::shows_batch() {
  if (progressive_) return false;
  if (batch_period_ == 0) return true;
  const double now = clock_();
  if (now < next_batch_) return false;
  next_batch_ = now + batch_period_;
  return true;
}

void Reporter::begin_costs(const CostTotals& before) {
  if (progressive_) progressive_->begin(before);
}

void Reporter::costs(int pass, const CostTotals& totals) {
  if (!progressive_) return;
  const std::optional<ProgressiveLoss::Row> row = progressive_->add(totals);
  if (!row) return;
  if (!std::exchange(has_heading_, true))
    log_.info(progressive_line("average-loss", "since-last", "examples"));
  log_.info(progressive_line(figure_text(row->average), figure_text(row->since_last),
                             std::to_string(row->examples)));
  write_metrics({{"event", "progressive"},
                 {"pass", pass},
                 {"samples", row->examples},
                 {"avg_cost", figure_json(row->average)},
                 {"since_last_cost", figure_json(row->since_last)}});
}

// Writes the line of a batch for people at most once in batch_period_ seconds, but each line for machines,
// so that curves have all points.
void Reporter::batch(int pass, int64_t batch, const Measures& whole, const Measures& current,
                     double learning_rate, const PassTimes& times) {
  if (shows_batch()) {
    log_.info(" Batch=", batch, " samples=", whole.samples(), " AvgCost=", figure_text(whole.average_cost()),
              " CurrentCost=", figure_text(current.average_cost()), " Eval: ", whole.text(),
              " CurrentEval: ", current.text());
  }
  if (!metrics_ && !take_) return;
  Json line = {{"event", "batch"},
               {"pass", pass},
               {"batch", batch},
               {"samples", whole.samples()},
               {"avg_cost", figure_json(whole.average_cost())},
               {"current_cost", figure_json(current.average_cost())},
               {"learning_rate", learning_rate},
               {"evaluators", whole.json()},
               {"current_evaluators", current.json()}};
  line.update(times.json());
  write_metrics(line);
}

void Reporter::pass(int pass, int64_t batches, const Measures& whole, const Json& times) {
  if (progress_) progress_->finish();
  log_.info(" Pass=", pass, " Batch=", batches, " samples=", whole.samples(),
            " AvgCost=", figure_text(whole.average_cost()), " Eval: ", whole.text());
  Json line = {{"event", "pass"},
               {"pass", pass},
               {"batches", batches},
               {"samples", whole.samples()},
               {"avg_cost", figure_json(whole.average_cost())},
               {"evaluators", whole.json()}};
  line.update(times);
  write_metrics(line);
}

void Reporter::test(int pass, const Measures& measures, double seconds, const std::string& data) {
  if (progress_) progress_->finish();
  log_.info(" ", data, " samples=", measures.samples(), " cost=", figure_text(measures.average_cost()),
            " Eval: ", measures.text());
  std::string event = data;
  event[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(event[0])));
  write_metrics({{"event", event},
                 {"pass", pass},
                 {"samples", measures.samples()},
                 {"cost", figure_json(measures.average_cost())},
                 {"evaluators", measures.json()},
                 {"seconds", seconds}});
}

// Every line is flushed, so that a program that follows the file sees it at once.
void Reporter::write_metrics(const Json& line) {
  if (take_) take_(line);
  if (!metrics_) return;
  std::string text = line.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), metrics_.get()) != text.size() ||
      std::fflush(metrics_.get()) != 0) {
    fail_errno(Code::kUnavailable, "cannot write", "metrics", errno);
  }
}

}  // namespace ps
