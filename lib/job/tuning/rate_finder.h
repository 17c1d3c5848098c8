// The rate finder trains one pass while the learning rate grows from a low to a high one, and finds the rates
// at which the cost falls (Smith, "Cyclical learning rates for training neural networks", WACV 2017).  Used by
// ps-train.
#ifndef PS_JOB_TUNING_RATE_FINDER_H_
#define PS_JOB_TUNING_RATE_FINDER_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/flags.h"
#include "config/json.h"
#include "job/job.h"
#include "job/run_options.h"

namespace ps {

// "1e-5..10": rates above 0, the second one larger.  Throws kUsage "--find-rate: …".
struct RateRange {
  double low, high;
};
RateRange parse_rate_range(const std::string& text);

// The mean cost of some batches, and the rate of the last of them.
struct RatePoint {
  double rate, cost;
  double smoothed = 0;  // the smoothed cost
};

struct RateFinding {
  // Points up to the one at which the cost has diverged: above four times its lowest.
  std::vector<RatePoint> points;
  std::optional<size_t>
      lowest;  // index of the point with the lowest smoothed cost, unless that is the first or last
  std::optional<double> rate;  // the suggested rate: a tenth of the rate at that point
};

// Smooths the costs by an exponential mean, which has weight 0.8 for the points before and is corrected for the
// bias of its beginning; then finds the lowest cost and the suggested rate.
RateFinding judge_rates(std::span<const RatePoint> points);

// Trains the job that make(overrides) returns for one pass from its initial weights, with rate
//   low (high / low)^(step / steps of the pass)
// in place of its schedule; saves nothing.  A cost that is no longer finite ends the search.  Returns nullopt
// if options.stop has ended it.  Throws kUsage as check_can_repeat does, and for passes of fewer than 20
// batches.
std::optional<RateFinding> find_rate(const RateRange& range,
                                     const std::function<Job(std::span<const Override>)>& make,
                                     const RunOptions& options, Log& log);

// {"points": [{"rate": …, "cost": …, "smoothed": …}, …], "rate": suggestion or null}
Json rate_result(const RateFinding& finding);

// Returns a table of about 25 of the points, with the lowest one marked with *, and the suggestion below it.
std::string rate_table(const RateFinding& finding);

}  // namespace ps

#endif  // PS_JOB_TUNING_RATE_FINDER_H_
