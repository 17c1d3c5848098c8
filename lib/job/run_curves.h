// RunCurves: the reports of a run as curves of bounded length for its status page.  Used by RunPage.
#ifndef PS_JOB_RUN_CURVES_H_
#define PS_JOB_RUN_CURVES_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "config/json.h"

namespace ps {

// The points of one curve.  When it is full, every second point is removed, and from then on twice as many new
// points are skipped.  So it shows the whole run, of any length, with 500 to 1,000 points, and the latest one.
// One owner thread.
class BoundedCurve {
 public:
  static constexpr size_t kMostPoints = 1000;
  using Point = std::pair<double, double>;

  void add(double x, double y);
  std::vector<Point> points() const;

 private:
  std::vector<Point> kept_;
  Point latest_;
  int64_t stride_ = 1, added_ = 0;
};

// Any thread may use it.
class RunCurves {
 public:
  static constexpr size_t kMostCurves = 64;

  // Adds a report of Reporter, which is a line of --metrics.
  void add(const Json& report);

  // Returns {"pass":, "samples": of the pass, "trained": of all passes, "curves": [{"panel": "cost", "name":
  // "training", "joined": true, "points": [[examples trained on, value], ...]}, ...]}; the panels are cost,
  // evaluators, learning rate and throughput.
  Json json() const;

 private:
  struct Curve {
    std::string panel, name;
    bool joined = true;  // true: points are joined by a line
    BoundedCurve values;
  };

  void add_training(const Json& report, bool pass_ends);
  void add_evaluators(const Json& values, const std::string& data, bool joined);
  void add_throughput(int64_t samples, double seconds);
  void add_point(const std::string& panel, const std::string& name, bool joined, const Json& value);

  mutable std::mutex mutex_;  // guards all below
  std::vector<Curve> curves_;
  int pass_ = 0;
  int64_t passed_ = 0;        // examples of the earlier passes
  int64_t samples_ = 0;       // examples of this pass
  int64_t last_samples_ = 0;  // examples and seconds of the pass at the last throughput
  double last_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_JOB_RUN_CURVES_H_
