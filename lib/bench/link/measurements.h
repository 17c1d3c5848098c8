// Measures steps over links of given bandwidths: the suites of ps-bench that emulate computing and exchange
// real bytes.  Used by bench/link/program.h.
#ifndef PS_BENCH_LINK_MEASUREMENTS_H_
#define PS_BENCH_LINK_MEASUREMENTS_H_

#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "bench/link/model_shape.h"
#include "config/fwd.h"

namespace ps {

struct LinkRequest {
  ModelShape model;
  int ranks = 2;
  double bits_per_second = 1e9;  // of a link, each way
  double compute_seconds = 0;    // of a step
  std::string link = "auto";     // of link_choices()
  int most_runs = 5;
  double budget_seconds = 5;  // for the runs of one kind of step

  // Used by local SGD alone.
  std::vector<int> periods = {};
  int batch = 1;  // examples of a trainer and step

  // Used by weak scaling alone: names of all-reduce algorithms, or "dgc".
  std::vector<std::string> algorithms = {};
};

// Rows are flat objects, one a result, with the same keys in all rows of a suite; seconds are medians over
// runs of the slowest rank's.  Throw kInternal when a sum is wrong, or differs between ranks.
std::vector<Json> measure_dgc(const LinkRequest& request, Log& log);
std::vector<Json> measure_local_sgd(const LinkRequest& request, Log& log);
std::vector<Json> measure_scaling(const LinkRequest& request, Log& log);

// A link that carries less than this share of its bandwidth is not what its name says: headers take 5 %.
inline constexpr double kFullLink = 0.8;

// The bar of a row.
struct LinkBar {
  std::string what, unit;
  double value, must, want;
  bool full_link = true;

  const char* verdict() const {
    if (!full_link) return "no verdict, since the link carried less";
    return value >= want ? "as wanted" : value >= must ? "met" : "missed";
  }
};

std::vector<LinkBar> link_bars(const std::vector<Json>& rows);

}  // namespace ps

#endif  // PS_BENCH_LINK_MEASUREMENTS_H_
