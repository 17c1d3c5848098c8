// CountedRun: a simulated cluster whose trainers count what they push, while some of them die and others come.  For tests of
// runs that go on without trainers.
#ifndef PS_TESTS_SIM_COUNTED_RUN_H_
#define PS_TESTS_SIM_COUNTED_RUN_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "cluster.h"
#include "simulate/shard_cluster.h"

namespace ps {

// Examples of all steps that the shard has applied.
inline int64_t applied_by(const Shard& shard) {
  return shard.step_rule().samples();
}

inline int64_t samples_of(const SyntheticJob& job) {
  int64_t samples = 0;
  for (size_t share = 0; share < job.steps.size(); ++share) {
    for (int count : job.steps[share]) samples += count * job.batch(static_cast<int>(share), 0).samples;
  }
  return samples;
}

// A cluster whose trainers count what they push, in the midst of which some of them die.
class CountedRun {
 public:
  using Batch = std::tuple<uint32_t, int64_t, int64_t>;  // share, pass, number in the share

  CountedRun(SyntheticJob job, const ShardClusterSize& size, uint64_t seed = 1)
      : job_(counted(std::move(job))), cluster_(job_, size, seed) {
    cluster_.network().set_default_link({.latency = 50ms, .jitter = 10ms});
  }

  ShardCluster& cluster() { return cluster_; }
  const SyntheticJob& job() const { return job_; }

  // The trainer dies; another process takes its rank later, if that is before the end of the run.
  void kill_at(Time moment, int rank, Duration later = 7200s) {
    cluster_.network().at(moment, [this, rank, later] { cluster_.restart_trainer(rank, later); });
  }

  void train() {
    cluster_.network().at(120s, [this] { cluster_.forget_trainers_to_come(); });
    cluster_.train();
  }

  uint64_t num_batches() const {
    uint64_t batches = 0;
    for (const auto& share : job_.steps) {
      for (int count : share) batches += static_cast<uint64_t>(count);
    }
    return batches;
  }

  // Examples of all shares, and those that a shard has applied.
  int64_t num_samples() const { return samples_of(job_); }
  int64_t applied_samples(size_t shard = 0) { return applied_by(*cluster_.shards()[shard]->shard()); }

  // Batches that were pushed more than once: trainers may have died before a shard had them.
  uint64_t pushed_again() const {
    uint64_t again = 0;
    for (const auto& [batch, times] : pushed_) again += times - 1;
    return again;
  }
  uint64_t num_pushed() const { return pushed_.size(); }
  uint64_t given_up() { return cluster_.shards()[0]->shard()->counters().trainers_given_up; }

 private:
  SyntheticJob counted(SyntheticJob job) {
    job.small = true;
    job.on_loss = {.timeout = 1s, .go_on = true};
    job.on_push = [this](uint32_t share, int64_t pass, int64_t batch) { ++pushed_[{share, pass, batch}]; };
    return job;
  }

  std::map<Batch, uint64_t> pushed_;
  const SyntheticJob job_;
  ShardCluster cluster_;
};

}  // namespace ps

#endif  // PS_TESTS_SIM_COUNTED_RUN_H_
