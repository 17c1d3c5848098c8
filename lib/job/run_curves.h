// RunCurves: what a run has reported, as curves of bounded length for its status page.  Used by RunPage.
#ifndef PS_JOB_RUN_CURVES_H_
#define PS_JOB_RUN_CURVES_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "config/json.h"

namespace ps {

// Points of one curve.  When it is full, every second one goes, and from then on every second one is left out: it shows the
// whole run, however long that is, with 500 to 1,000 points, and the latest.  One owner thread.
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

// Any thread.
class RunCurves {
 public:
  static constexpr size_t kMostCurves = 64;

  // A report of Reporter: a line of --metrics.
  void add(const Json& report);

  // {"pass":, "samples": of it, "trained": of all passes, "curves": [{"panel": "cost", "name": "training", "joined": true,
  // "points": [[examples trained on, value], ...]}, ...]}; the panels are cost, evaluators, learning rate and throughput.
  Json json() const;

 private:
  struct Curve {
    std::string panel, name;
    bool joined = true;  // by a line; else the points stand for themselves
    BoundedCurve values;
  };

  void add_training(const Json& report, bool pass_ends);
  void add_evaluators(const Json& values, const std::string& data, bool joined);
  void add_throughput(int64_t samples, double seconds);
  void add_point(const std::string& panel, const std::string& name, bool joined, const Json& value);

  mutable std::mutex mutex_;  // guards all below
  std::vector<Curve> curves_;
  int pass_ = 0;
  int64_t passed_ = 0;        // examples of the passes before
  int64_t samples_ = 0;       // of this pass
  int64_t last_samples_ = 0;  // and its seconds, when the throughput was last taken
  double last_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_JOB_RUN_CURVES_H_
