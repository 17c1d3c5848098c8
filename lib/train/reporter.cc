#include "train/reporter.h"

#include <cctype>
#include <cerrno>

#include "base/error.h"
#include "config/json.h"

namespace ps {

static std::FILE* open_metrics(const std::string& path, bool append) {
  if (path.empty()) return nullptr;
  if (path == "-") return stdout;
  std::FILE* file = std::fopen(path.c_str(), append ? "a" : "w");
  if (file == nullptr) fail_errno(Code::kUsage, "cannot create metrics file", path, errno);
  return file;
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

// The first line comes as soon as it can.
bool Reporter::shows_batch() {
  if (batch_period_ == 0) return true;
  const double now = clock_();
  if (now < next_batch_) return false;
  next_batch_ = now + batch_period_;
  return true;
}

void Reporter::batch(int pass, int64_t batch, const Measures& whole, const Measures& current,
                     double learning_rate, const PassTimes& times) {
  if (shows_batch()) {
    log_.info(" Batch=", batch, " samples=", whole.samples(),
              " AvgCost=", significant(whole.average_cost(), 6),
              " CurrentCost=", significant(current.average_cost(), 6), " Eval: ", whole.text(),
              " CurrentEval: ", current.text());
  }
  if (!metrics_) return;
  Json line = {{"event", "batch"},
               {"pass", pass},
               {"batch", batch},
               {"samples", whole.samples()},
               {"avg_cost", whole.average_cost()},
               {"current_cost", current.average_cost()},
               {"learning_rate", learning_rate},
               {"evaluators", whole.json()},
               {"current_evaluators", current.json()}};
  line.update(times.json());
  write_metrics(line);
}

void Reporter::pass(int pass, int64_t batches, const Measures& whole, const Json& times) {
  if (progress_) progress_->finish();
  log_.info(" Pass=", pass, " Batch=", batches, " samples=", whole.samples(),
            " AvgCost=", significant(whole.average_cost(), 6), " Eval: ", whole.text());
  Json line = {{"event", "pass"},
               {"pass", pass},
               {"batches", batches},
               {"samples", whole.samples()},
               {"avg_cost", whole.average_cost()},
               {"evaluators", whole.json()}};
  line.update(times);
  write_metrics(line);
}

void Reporter::test(int pass, const Measures& measures, double seconds, const std::string& data) {
  if (progress_) progress_->finish();
  log_.info(" ", data, " samples=", measures.samples(), " cost=", significant(measures.average_cost(), 6),
            " Eval: ", measures.text());
  std::string event = data;
  event[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(event[0])));
  write_metrics({{"event", event},
                 {"pass", pass},
                 {"samples", measures.samples()},
                 {"cost", measures.average_cost()},
                 {"evaluators", measures.json()},
                 {"seconds", seconds}});
}

void Reporter::write_metrics(const Json& line) {
  if (!metrics_) return;
  std::string text = line.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), metrics_.get()) != text.size() ||
      std::fflush(metrics_.get()) != 0) {
    fail_errno(Code::kUnavailable, "cannot write", "metrics", errno);
  }
}

}  // namespace ps
