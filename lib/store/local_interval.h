// LocalInterval: the number of steps that trainers make by themselves between two averagings of their
// weights.  Used by AveragingStore.
//
// Let k be the steps of the present interval and k0 those of the first; F the mean cost of the examples since
// the last averaging and F0 the cost of the first interval; r the learning rate of the next step and r0 the
// rate of the step after the first interval.  Then the next interval has
//
//   fixed        k0
//   adacomm      ceil(sqrt(r0/r F/F0) k0); if that is not below k, k/2.  Wang and Joshi, "Adaptive communication
//                strategies to achieve the best error-runtime trade-off in local-update SGD", MLSys 2019.  Changes
//                every `adapt_steps` steps, where the paper has a time: the same job gives the same bits.
//   fleetx_doc   floor(sqrt(r0/r (F - floor)/(F0 - floor)) k0), as PaddlePaddle's FleetX documents it; an interval
//                that would be more than 20 steps longer than the present one is ignored
//   paddle       ceil(sqrt(r0 F / (r F0) k0)), as PaddlePaddle computes it
//
// Adaptive intervals have at least 1 step and at most kMostAdaptiveSteps.
#ifndef PS_STORE_LOCAL_INTERVAL_H_
#define PS_STORE_LOCAL_INTERVAL_H_

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace ps {

enum class IntervalRule { kFixed, kAdacomm, kFleetxDoc, kPaddle };

inline constexpr int64_t kMostAdaptiveSteps = 16;

struct IntervalOptions {
  IntervalRule rule = IntervalRule::kFixed;
  int64_t first = 1;        // steps of the first interval, k0
  int64_t adapt_steps = 1;  // adacomm: the least number of steps from one change to the next
  double floor_cost = 0;    // fleetx_doc: the cost that training cannot go below
};

// A plain value: the same calls give the same intervals.  One thread at a time may use it.
class LocalInterval {
 public:
  explicit LocalInterval(const IntervalOptions& options) : options_(options), steps_(options.first) {}

  // The number of steps of the present interval.
  int64_t steps() const { return steps_; }

  // Begins the next interval, after one with this mean cost; `rate` is that of the next step, and `step` its
  // number.  The interval keeps its length if the rule gives no number, as with a rate of 0.
  void next(double cost, double rate, int64_t step);

  // Save to and load from checkpoints.  load throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

 private:
  double ruled(double cost, double rate) const;

  const IntervalOptions options_;
  int64_t steps_;
  bool begun_ = false;  // the first interval has ended
  double first_cost_ = 0, first_rate_ = 0;
  int64_t adapted_at_ = 0;  // the step of the last change
};

}  // namespace ps

#endif  // PS_STORE_LOCAL_INTERVAL_H_
