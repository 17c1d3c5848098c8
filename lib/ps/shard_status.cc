#include "ps/shard_status.h"

#include <algorithm>
#include <cmath>

#include "ps/shard.h"
#include "ps/shard_state.h"

namespace ps {

double RateMeter::update(uint64_t total, Time now) {
  constexpr double kSmoothing = 2;
  const double seconds = to_seconds(now - std::exchange(time_, now));
  const uint64_t before = std::exchange(total_, total);
  if (seconds <= 0) return rate_;
  const double present = static_cast<double>(total - before) / seconds;
  rate_ += (present - rate_) * (1 - std::exp(-seconds / kSmoothing));
  return rate_;
}

// A trainer's clock counts what it has pushed, so that the one that the others wait for is behind.
void Shard::describe(ShardStatus& status) const {
  status.clock = clock_;
  status.counters = counters_;
  status.counters.refused_for_memory += memory_.refused();
  status.tables = tables_.status();
  status.message_bytes += held_.bytes_in_use() + answers_.bytes_in_use();
  uint64_t furthest = 0;
  for (const Trainer& trainer : trainers_) {
    uint64_t clock = trainer.next_step;
    for (const auto& [step, push] : trainer.pushes) clock += push.complete();
    furthest = std::max(furthest, clock);
    status.trainers.push_back({.rank = trainer.rank, .connections = trainer.connections, .clock = clock});
  }
  for (TrainerStatus& trainer : status.trainers) trainer.lag = furthest - trainer.clock;
}

}  // namespace ps
