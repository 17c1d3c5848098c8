#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "bench/link/steps.h"

namespace ps {

namespace {

uint64_t sent_to_all(const ExchangeCommunicator& communicator) {
  uint64_t bytes = 0;
  for (int to = 0; to < communicator.size(); ++to) bytes += communicator.bytes_sent(to);
  return bytes;
}

// Returns the number of further runs, which rank 0 decides for all ranks; 0 when the first run is to count.
int agree_on_runs(ExchangeCommunicator& communicator, double first_seconds, int most, double budget) {
  std::vector<int64_t> runs(1);
  if (first_seconds <= budget) {
    const double affordable = std::floor(budget / std::max(first_seconds, 1e-9));
    runs[0] = static_cast<int64_t>(std::clamp(affordable, 1.0, static_cast<double>(most)));
  }
  communicator.broadcast(runs, 0);
  return static_cast<int>(runs[0]);
}

// Runs a step once after a barrier, so that no rank's time contains the wait for a rank that began late.
void time_run(ExchangeCommunicator& communicator, LinkStep& step, StepRun& out) {
  communicator.barrier();
  const uint64_t before = sent_to_all(communicator);
  const double begin = monotonic_seconds();
  step.run();
  out.seconds.push_back(monotonic_seconds() - begin);
  out.bytes = static_cast<double>(sent_to_all(communicator) - before);
}

}  // namespace

// The first run is checked and, if it was short, only warms connections and memory.  Rank 0 decides on the
// number of runs, since ranks that disagreed would wait for each other for ever.
StepRun run_step(ExchangeCommunicator& communicator, LinkStep& step, int most, double budget) {
  StepRun out;
  time_run(communicator, step, out);
  out.wrong = step.count_wrong();
  const int runs = agree_on_runs(communicator, out.seconds.front(), most, budget);
  if (runs > 0) out.seconds.clear();
  for (int i = 0; i < runs; ++i) time_run(communicator, step, out);
  return out;
}

StepRun slowest(const std::vector<StepRun>& of_ranks) {
  StepRun out = of_ranks.front();
  for (const StepRun& run : of_ranks) {
    for (size_t i = 0; i < out.seconds.size(); ++i) out.seconds[i] = std::max(out.seconds[i], run.seconds[i]);
    out.bytes = std::max(out.bytes, run.bytes);
    if (&run != &of_ranks.front()) out.wrong += run.wrong;
  }
  return out;
}

}  // namespace ps
