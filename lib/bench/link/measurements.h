// Measures steps over links of given bandwidths: these suites of ps-bench emulate compute and exchange real
// bytes.  Used by bench/link/program.h.
#ifndef PS_BENCH_LINK_MEASUREMENTS_H_
#define PS_BENCH_LINK_MEASUREMENTS_H_

#include <string>
#include <vector>

#include "base/log.h"
#include "bench/link/link_request.h"
#include "config/fwd.h"

namespace ps {

// Each returns rows that are flat objects, one for each result, and have the same keys in one suite.  Seconds
// are medians over the runs of the slowest rank.  Throw kInternal when a sum is wrong or differs between
// ranks.
std::vector<Json> measure_dgc(const LinkRequest& request, Log& log);
std::vector<Json> measure_local_sgd(const LinkRequest& request, Log& log);
std::vector<Json> measure_scaling(const LinkRequest& request, Log& log);

// A link that carries less than this share of its bandwidth is too slow for its name; headers alone take 5 %.
inline constexpr double kFullLink = 0.8;

// A bar that a row is held to.
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
