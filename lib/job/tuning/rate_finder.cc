#include "job/tuning/rate_finder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/inspect/table_rows.h"
#include "data/reader.h"
#include "job/run.h"
#include "job/task_data.h"
#include "job/tuning/repeated_job.h"

namespace ps {

namespace {

constexpr int64_t kFewestBatches = 20, kPoints = 100;

// A file without a name for the reports of a run; it disappears with this object.
class ReportFile {
 public:
  ReportFile() : descriptor_(memfd_create("reports", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail_errno(Code::kExhausted, "cannot make", "a file in memory", errno);
  }
  ~ReportFile() { close(descriptor_); }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  std::string path() const { return cat("/proc/self/fd/", descriptor_); }

  std::string read() const {
    std::string text;
    char piece[4096];
    ssize_t size = 0;
    while ((size = pread(descriptor_, piece, sizeof piece, static_cast<off_t>(text.size()))) > 0)
      text.append(piece, static_cast<size_t>(size));
    if (size < 0) fail_errno(Code::kUnavailable, "cannot read", "a file in memory", errno);
    return text;
  }

 private:
  const int descriptor_;
};

// Reads the data once to count the batches of a pass, over which the rate grows.
int64_t count_batches(const Job& job, const RunOptions& options, Log& log) {
  TaskData data(job, options, log);
  const std::unique_ptr<BatchReader> reader =
      data.make_reader(job.data.files, "none", 1, {.accumulate = job.train.accumulate});
  reader->begin_pass(0);
  Batch batch;
  int64_t batches = 0;
  while (!options.stop() && reader->next(batch)) ++batches;
  return batches;
}

// Returns the points in the lines of --metrics.  A cost that was not finite is null there, and gives no
// point.
std::vector<RatePoint> points_of(const std::string& reports) {
  std::vector<RatePoint> points;
  for (std::string_view line : split(reports, '\n')) {
    if (line.empty()) continue;
    const Json report = parse_json(line, "reports");
    if (report["event"] != "batch" || !report["current_cost"].is_number()) continue;
    points.push_back({report["learning_rate"].get<double>(), report["current_cost"].get<double>()});
  }
  return points;
}

Override setting(const char* key, const Json& value) {
  return {.key = key, .values = {value.dump()}, .is_set = true, .typed = "--find-rate"};
}

// Returns the job with an exponential schedule from the low to the high rate over one pass.  Nothing is saved,
// tested or validated.
Job growing_job(const RateRange& range, int64_t batches,
                const std::function<Job(std::span<const Override>)>& make) {
  const Json schedule = {{"type", "exp"}, {"a", range.high / range.low}, {"b", batches}, {"unit", "steps"}};
  Job job = make(std::vector<Override>{
      setting("train.passes", 1), setting("train.log_period", std::max<int64_t>(1, batches / kPoints)),
      setting("optimizer.learning_rate", range.low), setting("optimizer.schedule", schedule)});
  job.train.save_dir.clear();
  job.train.patience.reset();
  job.train.best_by = "cost";
  job.data.validation = 0;
  job.data.validation_by.clear();
  job.data.validation_values.clear();
  job.data.test_files.clear();
  job.checkpoint.directory.clear();
  return job;
}

}  // namespace

RateRange parse_rate_range(const std::string& text) {
  const size_t dots = text.find("..");
  const auto low = parse_double(text.substr(0, dots)),
             high = parse_double(dots == std::string::npos ? "" : text.substr(dots + 2));
  if (low && high && *low > 0 && *high > *low) return {*low, *high};
  fail(Code::kUsage, "--find-rate: ", quote(text), ", expected LOW..HIGH, such as 1e-5..10");
}

// Smooths the costs from left to right and keeps the lowest.  It stops where the smoothed cost is above four
// times the lowest.  A lowest cost at either end of the range gives no rate, since the true minimum may lie
// outside.
RateFinding judge_rates(std::span<const RatePoint> points) {
  constexpr double kKept = 0.8, kDiverged = 4;
  RateFinding out;
  double mean = 0, weight = 0, lowest = HUGE_VAL;
  for (RatePoint point : points) {
    mean = kKept * mean + (1 - kKept) * point.cost;
    weight = kKept * weight + (1 - kKept);
    point.smoothed = mean / weight;
    out.points.push_back(point);
    if (point.smoothed > kDiverged * std::fabs(lowest) && lowest < HUGE_VAL) break;
    if (!(point.smoothed < lowest)) continue;
    lowest = point.smoothed;
    out.lowest = out.points.size() - 1;
  }
  if (out.lowest && (*out.lowest == 0 || *out.lowest + 1 == out.points.size())) out.lowest.reset();
  if (out.lowest) out.rate = out.points[*out.lowest].rate / 10;
  return out;
}

// Counts the batches of a pass, over which the rate is to grow; then trains with reports to a file in
// memory, and judges the points in it.  A run that diverges ends with an error, and its points up to there
// count.
std::optional<RateFinding> find_rate(const RateRange& range,
                                     const std::function<Job(std::span<const Override>)>& make,
                                     const RunOptions& options, Log& log) {
  const Job given = make({});
  check_can_repeat(given, "the rate finder");
  const int64_t batches = count_batches(given, options, log);
  if (options.stop()) return std::nullopt;
  if (batches < kFewestBatches) {
    fail(Code::kUsage, "--find-rate: a pass has ", batches, " batches, expected ", kFewestBatches,
         " or more: give more data, or a smaller data.batch_size");
  }
  const ReportFile reports;
  RunOptions own = options;
  own.metrics = reports.path();
  own.on_result = [](const Json&) {};
  log.info("Training on ", batches, " batches with rates from ", range.low, " to ", range.high);
  Log quiet("ps-train", LogLevel::kWarning);
  try {
    if (!run_job(growing_job(range, batches, make), own, quiet)) return std::nullopt;
  } catch (const Error& error) {
    // All data were read before without error, so the error is that of training that diverges, as expected at
    // high rates.
    if (error.code() != Code::kData || points_of(reports.read()).empty()) throw;
    log.info("The search ends: ", error.message());
  }
  return judge_rates(points_of(reports.read()));
}

Json rate_result(const RateFinding& finding) {
  Json out = {{"points", Json::array()}, {"rate", finding.rate ? Json(*finding.rate) : Json()}};
  for (const RatePoint& point : finding.points)
    out["points"].push_back({{"rate", point.rate}, {"cost", point.cost}, {"smoothed", point.smoothed}});
  return out;
}

// Shows every step-th point, and always the lowest and the last, at which the cost may have diverged.
std::string rate_table(const RateFinding& finding) {
  constexpr size_t kLines = 25;
  const size_t step = std::max<size_t>(1, finding.points.size() / kLines);
  std::vector<std::vector<std::string>> lines = {{" ", "rate", "cost", "smoothed"}};
  for (size_t i = 0; i < finding.points.size(); ++i) {
    const RatePoint& point = finding.points[i];
    const bool lowest = finding.lowest == i;
    if (i % step != 0 && !lowest && i + 1 != finding.points.size()) continue;
    lines.push_back({lowest ? "*" : " ", significant(point.rate, 4), significant(point.cost, 6),
                     significant(point.smoothed, 6)});
  }
  const std::string said =
      finding.rate ? cat("a rate to begin with: ", significant(*finding.rate, 3),
                         ", a tenth of that of the lowest cost (*)\n")
                   : std::string("no rate to begin with: the cost is lowest at an end of the range\n");
  return aligned(lines) + said;
}

}  // namespace ps
