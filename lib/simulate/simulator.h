// Steps of a whole cluster on simulated time: compute, exchange, and what goes wrong.  Used by ps-bench plan.
//
// After an exchange all trainers begin the next step together, when the last of them has the sum, as in the
// formulas; those that have it first wait.  Between exchanges nobody waits.
//
// All faults are drawn from (seed, step, rank), so that the same seed gives the same run.
#ifndef PS_SIMULATE_SIMULATOR_H_
#define PS_SIMULATE_SIMULATOR_H_

#include <cstdint>
#include <vector>

#include "collective/cost_model.h"

namespace ps {

// When trainers exchange: after every `period` steps (local SGD), or after each step if it is 1.
struct SimulatedStrategy {
  ExchangeKind exchange = ExchangeKind::kDirect;
  int64_t period = 1;
};

struct Noise {
  double jitter = 0;              // standard deviation of a step's compute, as a share of it
  double stragglers = 0;          // probability that a trainer is slow in a step
  double straggler_factor = 3;    // factor by which its compute then takes longer
  double link_failures = 0;       // probability that a trainer's link is down when an exchange begins
  double repair_seconds = 1;      // time until the link is up again
  int64_t checkpoint_steps = 0;   // steps between checkpoints that stop all trainers; 0: none
  double checkpoint_seconds = 0;  // duration of such a stop
  uint64_t seed = 1;

  // Returns true if nothing goes wrong, so that every period is like the first.
  bool silent() const {
    return jitter == 0 && stragglers == 0 && link_failures == 0 && checkpoint_steps == 0;
  }
};

struct SimulatedRun {
  std::vector<double> step_seconds;  // until the slowest trainer has done the step, since the one before
  int64_t stragglers = 0, link_failures = 0, checkpoints = 0;

  double mean_seconds() const;
  double quantile_seconds(double share) const;  // the smallest that `share` of the steps do not exceed
};

// Steps that are simulated where a user asks for no number: 100, or as many as so many messages allow, in whole periods,
// at least one.
int64_t affordable_steps(const SimulatedStrategy& strategy, const ClusterParameters& cluster,
                         const StepBytes& payload, double messages);

// `steps` steps of `compute_seconds` each.  Without noise, and with steps a multiple of the period, their
// mean is compute_seconds + exchange_cost / period; then one period is gone through, and all others are like it.
SimulatedRun simulate(const SimulatedStrategy& strategy, const ClusterParameters& cluster,
                      const StepBytes& payload, double compute_seconds, int64_t steps, const Noise& noise);

}  // namespace ps

#endif  // PS_SIMULATE_SIMULATOR_H_
