#include "job/run_curves.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"

namespace ps {

namespace {

// Rounds to six digits.  This is more than a page shows, and takes a third of the bytes of all digits.
double rounded(double value) {
  return std::strtod(significant(value, 6).c_str(), nullptr);
}

// Returns true for cells of a confusion matrix and buckets of a calibration, each of which would be a curve.
bool is_cell(const std::string& evaluator) {
  return evaluator.find("_as_") != std::string::npos || evaluator.starts_with("bucket_");
}

}  // namespace

// Keeps every stride_-th point.  When the curve is full, it drops each second kept point and doubles the
// stride; the points that stay, numbers 0, 2 stride_, 4 stride_ and so on, are those that the new stride
// would have kept.
void BoundedCurve::add(double x, double y) {
  latest_ = {x, y};
  if (added_++ % stride_ != 0) return;
  if (kept_.size() == kMostPoints) {
    for (size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
    kept_.resize((kept_.size() + 1) / 2);
    stride_ *= 2;
    if ((added_ - 1) % stride_ != 0) return;
  }
  kept_.push_back(latest_);
}

std::vector<BoundedCurve::Point> BoundedCurve::points() const {
  std::vector<Point> all = kept_;
  if (added_ > 0 && all.back() != latest_) all.push_back(latest_);
  return all;
}

void RunCurves::add(const Json& report) {
  const std::string event = report.value("event", "");
  const std::lock_guard lock(mutex_);
  if (event == "batch" || event == "pass") return add_training(report, event == "pass");
  if (event != "validation" && event != "test") return;
  add_point("cost", event, false, report["cost"]);
  add_evaluators(report["evaluators"], event, false);
}

// Adds the points of a batch or of the end of a pass.  Fewer samples than before mean that another pass has
// begun, or that the run has gone back to a checkpoint: the throughput is then counted from the beginning.
void RunCurves::add_training(const Json& report, bool pass_ends) {
  const int64_t samples = report["samples"].get<int64_t>();
  if (samples < last_samples_) last_samples_ = 0, last_seconds_ = 0;
  pass_ = report["pass"].get<int>();
  samples_ = samples;
  if (pass_ends) {
    add_point("cost", "training, mean of the pass", true, report["avg_cost"]);
  } else {
    add_point("cost", "training", true, report["current_cost"]);
    add_point("learning rate", "learning rate", true, report["learning_rate"]);
  }
  add_evaluators(report["evaluators"], "training", true);
  add_throughput(samples, report["seconds"].get<double>());
  if (!pass_ends) return;
  passed_ += samples;
  samples_ = last_samples_ = 0;
  last_seconds_ = 0;
}

void RunCurves::add_evaluators(const Json& values, const std::string& data, bool joined) {
  for (const auto& [name, value] : values.items()) {
    const char* const panel = name.ends_with(".cost") ? "cost" : "evaluators";
    if (!is_cell(name)) add_point(panel, cat(name, ", ", data), joined, value);
  }
}

// Adds the throughput since the last report of the same pass.
void RunCurves::add_throughput(int64_t samples, double seconds) {
  if (samples > last_samples_ && seconds > last_seconds_) {
    const double rate = static_cast<double>(samples - last_samples_) / (seconds - last_seconds_);
    add_point("throughput", "examples a second", true, rate);
  }
  last_samples_ = samples;
  last_seconds_ = seconds;
}

// Adds a point.  Undefined values are null, and give no points.
void RunCurves::add_point(const std::string& panel, const std::string& name, bool joined, const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) return;
  auto found = std::ranges::find_if(
      curves_, [&](const Curve& curve) { return curve.panel == panel && curve.name == name; });
  if (found == curves_.end()) {
    if (curves_.size() == kMostCurves) return;
    curves_.push_back({.panel = panel, .name = name, .joined = joined, .values = {}});
    found = curves_.end() - 1;
  }
  found->values.add(static_cast<double>(passed_ + samples_), rounded(value.get<double>()));
}

Json RunCurves::json() const {
  const std::lock_guard lock(mutex_);
  Json json = {
      {"pass", pass_}, {"samples", samples_}, {"trained", passed_ + samples_}, {"curves", Json::array()}};
  for (const Curve& curve : curves_) {
    Json points = Json::array();
    for (const auto& [x, y] : curve.values.points()) points.push_back(Json::array({x, y}));
    json["curves"].push_back({{"panel", curve.panel},
                              {"name", curve.name},
                              {"joined", curve.joined},
                              {"points", std::move(points)}});
  }
  return json;
}

}  // namespace ps
