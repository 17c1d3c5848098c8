// The status of a shard, published a few times a second, and the board from which another thread reads it.
// Filled in by Shard and ShardServer, read by StatusService.
#ifndef PS_PS_STATUS_SHARD_STATUS_H_
#define PS_PS_STATUS_SHARD_STATUS_H_

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "net/counters.h"
#include "net/loop.h"

namespace ps {

// Counters of requests; each only grows.
struct ShardCounters {
  uint64_t steps = 0;                    // steps applied
  uint64_t pulls = 0, rows_pulled = 0;   // pulls answered, and their rows
  uint64_t pushes = 0, rows_pushed = 0;  // pushes accepted, and their rows
  uint64_t pushes_repeated = 0, pushes_dropped = 0;
  uint64_t refused_for_memory = 0;
  uint64_t refused_not_finite = 0;  // pushes, loads, returned rows and norms with NaN or infinite values
  uint64_t pulls_repeated = 0;      // pulls answered with an earlier answer
  uint64_t trainers_given_up = 0, trainers_returned = 0, trainers_joined = 0;
};

// Counters of a shard's checkpoints.
struct CheckpointCounters {
  uint64_t parts_written = 0;  // parts that this shard has written
  uint64_t failed = 0, given_up = 0;
  uint64_t written = 0;  // whole checkpoints, counted by the job's first shard; below: the last one's
  int64_t last_step = 0;
  uint64_t last_bytes = 0;
  double last_seconds = 0;
};

// Counters of a shard's log.
struct LogCounters {
  uint64_t events = 0;  // changes of the shard
  uint64_t syncs = 0;   // syncs, each of many changes
  uint64_t bytes = 0;
  uint64_t replayed = 0;  // changes that this process replayed when it started
};

// A histogram of the times of requests, with bounds that differ by about a factor of three.
struct RequestSeconds {
  static constexpr std::array<double, 11> kBounds = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10};

  // Requests up to each bound and above the one before; then the rest.
  std::array<uint64_t, kBounds.size() + 1> counts{};
  double sum = 0;

  void add(double seconds) {
    size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
    ++counts[bucket];
    sum += seconds;
  }
};

// The part of a parameter that one shard has.
struct TableStatus {
  std::string name;
  bool sparse = false;
  uint64_t rows = 0, bytes = 0;
};

// Memory of one kind that the shard holds for peers.
struct HeldStatus {
  std::string kind;
  uint64_t bytes = 0;
};

struct TrainerStatus {
  int rank = 0;
  int connections = 0;  // 0: the trainer is gone, or has not come yet
  uint64_t clock = 0;   // number of steps that it has pushed
  uint64_t lag = 0;     // steps behind the trainer that is furthest ahead
  // The memory of requests that wait or are remembered, without rows and state chunks.
  uint64_t held_bytes = 0;
};

struct ShardStatus {
  int port = 0;
  Time published{};  // 0: not yet
  uint64_t clock = 0;
  ShardCounters counters;
  CheckpointCounters checkpoints;
  bool begins_checkpoints = false;  // it is the job's first shard, and a trainer has come
  LogCounters log;
  std::vector<TableStatus> tables;  // like `trainers`, empty until a trainer has come
  std::vector<TrainerStatus> trainers;
  uint64_t message_bytes = 0;    // memory of requests, of answers, and of pushes that wait for others
  std::vector<HeldStatus> held;  // the same by kind, and state chunks; empty until a trainer has come
  uint64_t connections = 0;
  NetCounters net;
  uint64_t peers_refused = 0;  // peers that could not prove their rights
  RequestSeconds pull_seconds, push_seconds;
  double pulls_per_second = 0, pushes_per_second = 0;  // averages of the last seconds

  uint64_t rows() const {
    uint64_t sum = 0;
    for (const TableStatus& table : tables) sum += table.rows;
    return sum;
  }
  uint64_t table_bytes() const {
    uint64_t sum = 0;
    for (const TableStatus& table : tables) sum += table.bytes;
    return sum;
  }
};

// Any thread may use it.  The lock is held only for the copy, so a reader never delays a shard for longer.
class StatusBoard {
 public:
  void publish(ShardStatus status) {
    std::lock_guard lock(mutex_);
    std::swap(latest_, status);
  }
  ShardStatus latest() const {
    std::lock_guard lock(mutex_);
    return latest_;
  }

 private:
  mutable std::mutex mutex_;
  ShardStatus latest_;  // guarded by mutex_
};

// The rate at which a counter grows, smoothed over about two seconds.  A counter that is smaller than before
// has restarted at 0.  One owner thread.
class RateMeter {
 public:
  double update(uint64_t total, Time now);

 private:
  uint64_t total_ = 0;
  Time time_{};
  double rate_ = 0;
};

}  // namespace ps

#endif  // PS_PS_STATUS_SHARD_STATUS_H_
