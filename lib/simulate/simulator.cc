#include "simulate/simulator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "simulate/exchange_run.h"

namespace ps {

double SimulatedRun::mean_seconds() const {
  const double sum = std::accumulate(step_seconds.begin(), step_seconds.end(), 0.0);
  return step_seconds.empty() ? 0 : sum / static_cast<double>(step_seconds.size());
}

double SimulatedRun::quantile_seconds(double share) const {
  if (step_seconds.empty()) return 0;
  std::vector<double> sorted = step_seconds;
  std::sort(sorted.begin(), sorted.end());
  // The quantile is the value of nearest rank: number ceil(share n) of the n sorted ones, from 1 on.
  const double position = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::clamp(position, 1.0, static_cast<double>(sorted.size()))) - 1];
}

namespace {

// The state of the simulated cluster: clocks_ has the time at which each trainer has ended all its work so far.
class SimulatedCluster {
 public:
  SimulatedCluster(const SimulatedStrategy& strategy, const ClusterParameters& cluster,
                   const StepBytes& payload, double compute_seconds, const Noise& noise)
      : strategy_(strategy),
        cluster_(cluster),
        payload_(payload),
        compute_seconds_(compute_seconds),
        noise_(noise),
        clocks_(static_cast<size_t>(cluster.ranks), 0) {}

  // One step of all trainers.  Every rank draws the same random numbers in the same order in each step,
  // whether it exchanges or not, so that its faults do not depend on the strategy.  After an exchange all
  // clocks are set to the latest one; between exchanges they drift apart, and the step ends when the
  // slowest trainer has done it.
  void step(int64_t number) {
    const bool exchanges = (number + 1) % strategy_.period == 0;
    for (size_t rank = 0; rank < clocks_.size(); ++rank) {
      Random random(hash_key(noise_.seed ^ hash_key(static_cast<uint64_t>(number))), rank);
      clocks_[rank] += compute(random);
      if (random.uniform() >= noise_.link_failures || !exchanges) continue;
      clocks_[rank] += noise_.repair_seconds;
      ++run_.link_failures;
    }
    if (exchanges) run_exchange(strategy_.exchange, cluster_, payload_, clocks_);
    if (noise_.checkpoint_steps > 0 && (number + 1) % noise_.checkpoint_steps == 0) checkpoint();
    const double now = *std::max_element(clocks_.begin(), clocks_.end());
    if (exchanges) std::fill(clocks_.begin(), clocks_.end(), now);
    run_.step_seconds.push_back(now - last_);
    last_ = now;
  }

  SimulatedRun finish() { return std::move(run_); }

 private:
  double compute(Random& random) {
    double seconds = compute_seconds_ * std::max(0.0, 1 + noise_.jitter * random.normal());
    if (random.uniform() >= noise_.stragglers) return seconds;
    ++run_.stragglers;
    return seconds * noise_.straggler_factor;
  }

  void checkpoint() {
    for (double& clock : clocks_) clock += noise_.checkpoint_seconds;
    ++run_.checkpoints;
  }

  const SimulatedStrategy strategy_;
  const ClusterParameters cluster_;
  const StepBytes payload_;
  const double compute_seconds_;
  const Noise noise_;
  std::vector<double> clocks_;
  double last_ = 0;  // when the slowest trainer ended the step before
  SimulatedRun run_;
};

}  // namespace

int64_t affordable_steps(const SimulatedStrategy& strategy, const ClusterParameters& cluster,
                         const StepBytes& payload, double messages) {
  constexpr double kUsual = 100;
  const double period = static_cast<double>(strategy.period);
  const double exchanges = std::floor(messages / exchange_messages(strategy.exchange, cluster, payload));
  return strategy.period * static_cast<int64_t>(std::clamp(exchanges, 1.0, std::ceil(kUsual / period)));
}

SimulatedRun simulate(const SimulatedStrategy& strategy, const ClusterParameters& cluster,
                      const StepBytes& payload, double compute_seconds, int64_t steps, const Noise& noise) {
  PS_CHECK(strategy.period > 0);
  SimulatedCluster simulated(strategy, cluster, payload, compute_seconds, noise);
  // Without noise the steps of the first period are repeated instead of simulated.
  const int64_t different = noise.silent() ? std::min(steps, strategy.period) : steps;
  for (int64_t number = 0; number < different; ++number) simulated.step(number);
  SimulatedRun run = simulated.finish();
  for (int64_t number = different; number < steps; ++number)
    run.step_seconds.push_back(run.step_seconds[static_cast<size_t>(number % strategy.period)]);
  return run;
}

}  // namespace ps
