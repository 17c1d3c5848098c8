// PullService: answers what a shard's trainers and readers pull, now or when the clock allows.  Used by Shard
// and its StepClock.
#ifndef PS_PS_SERVER_PULL_SERVICE_H_
#define PS_PS_SERVER_PULL_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/buffer_pool.h"
#include "net/loop.h"
#include "ps/server/memory_limits.h"
#include "ps/server/pull_history.h"
#include "ps/server/reply.h"
#include "ps/server/shard_tables.h"
#include "ps/status/shard_status.h"

namespace ps {

// Puts the answers into memory of their own, and counts them until they have been sent.  One owner thread.
class PullService {
 public:
  // With `keeps_answers` the answers for the present step are kept, and given again to an equal pull.
  PullService(ShardTables& tables, TableMemory& memory, ShardCounters& counters, uint64_t max_bytes,
              bool keeps_answers)
      : tables_(tables),
        memory_(memory),
        counters_(counters),
        keeps_answers_(keeps_answers),
        answers_(max_bytes) {}

  // Another run begins, with so many trainers.
  void restart(size_t num_trainers) { histories_ = std::vector<PullHistory>(num_trainers); }

  // Throws kData unless the rows of the request make one answer, of kMaxMessageBytes at most: a request may
  // name the same rows many times.
  void check(const PullRequest& request) const;

  // Reads rows without taking part in steps.  Throws as check, kUnavailable when there is no room for the answer at
  // present, kExhausted when there has been none for long or there is none for the rows.
  Payload read(const PullRequest& request);

  // Answers a trainer's pull; `clock` is the present step.  Throws as read.
  void answer(int rank, PullRequest request, uint64_t clock, Reply& reply);

  // Answers it when answer_waiting comes to a clock that `may_pull` its step.
  void wait(int rank, PullRequest request, ReplyPtr reply);
  void answer_waiting(const std::function<bool(uint64_t step)>& may_pull, uint64_t clock);

  PullHistory& history(int rank) { return histories_[static_cast<size_t>(rank)]; }
  const PullHistory& history(int rank) const { return histories_[static_cast<size_t>(rank)]; }
  bool keeps_answers() const { return keeps_answers_; }

  // To be called now and then: sees for how long there has been no room for answers.
  void check_room(Time now);

  BufferPool& pool() { return answers_; }
  uint64_t bytes_in_use() const { return answers_.bytes_in_use(); }

  size_t num_waiting() const { return waiting_.size(); }
  void forget_unwanted();
  void take_replies(std::vector<ReplyPtr>& out);

  // For shard snapshots, where answers are kept: the pulls that wait.  load_waiting tells each of them.
  void save_waiting(std::string& out) const;
  static void load_waiting(ByteReader& in, const std::function<void(int rank, std::string_view pull)>& tell);

 private:
  struct WaitingPull {
    int rank;
    PullRequest request;
    ReplyPtr reply;
  };

  Buffer take_answer(uint64_t bytes);
  Payload make_answer(const PullRequest& request, const std::function<void(char*)>& fill);

  ShardTables& tables_;
  TableMemory& memory_;
  ShardCounters& counters_;
  const bool keeps_answers_;
  BufferPool answers_;
  std::vector<PullHistory> histories_;  // by rank
  std::vector<WaitingPull> waiting_;    // in order of arrival

  // There was no room for the last answer; check_room has seen that first at starved_since_, and has seen it
  // for longer than a connection may take nothing.
  bool starved_ = false, starved_for_long_ = false;
  std::optional<Time> starved_since_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_PULL_SERVICE_H_
