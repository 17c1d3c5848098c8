// PullService: answers the pulls of a shard's trainers and readers, at once or when the clock allows.  Used
// by Shard and its StepClock.
#ifndef PS_PS_SERVER_PULL_SERVICE_H_
#define PS_PS_SERVER_PULL_SERVICE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/buffer_pool.h"
#include "net/loop.h"
#include "ps/server/held_memory.h"
#include "ps/server/memory_limits.h"
#include "ps/server/pull_history.h"
#include "ps/server/pull_queue.h"
#include "ps/server/read_answers.h"
#include "ps/server/reply.h"
#include "ps/server/shard_tables.h"
#include "ps/server/slice_work.h"
#include "ps/status/shard_status.h"

namespace ps {

// Every answer lies in memory of its own, which is counted until the answer has been sent.  A quarter of that
// memory is for pulls to read.  A pull of a trainer whose answer finds no room waits until there is some:
// on_room says when to call answer_starved and read_on.  One owner thread.
class PullService {
 public:
  // With `keeps_answers` the answers for the present step are kept, and given again to an equal pull.
  PullService(ShardTables& tables, TableMemory& memory, HeldMemory& held, ShardCounters& counters,
              uint64_t max_bytes, bool keeps_answers)
      : tables_(tables),
        memory_(memory),
        held_(held),
        counters_(counters),
        keeps_answers_(keeps_answers),
        answers_(max_bytes - max_bytes / 4, [this] { tell_room(); }),
        reads_(tables, held, counters, max_bytes / 8, [this] { tell_room(); }) {}

  // `on_room` is called, on any thread, when answer_starved and read_on have to be called soon.
  void on_room(std::function<void()> on_room) { on_room_ = std::move(on_room); }

  // Begins another run, with so many trainers.
  void restart(size_t num_trainers) { histories_ = std::vector<PullHistory>(num_trainers); }

  // Throws kData unless the rows of the request make one answer of at most kMaxMessageBytes: a request may
  // name the same rows many times.
  void check(const PullRequest& request) const;

  // Reads rows for the connection `peer`, which takes no part in steps.  Throws as check does, and
  // kUnavailable if there is no room for the answer, nor for one more pull that waits for it.
  void read(uint64_t peer, PullRequest request, ReplyPtr& reply);

  // Goes on with the pulls to read that wait for room.
  void read_on() { reads_.go_on(); }

  // Answers a trainer's pull; `clock` is the present step.  Throws as read does, and kExhausted if there is
  // no room for its rows, or to remember it.
  //
  // This function and the next ones do only as much as `work` allows.  If there is more to do, busy returns
  // true.  Until it does not any more, go_on must be called again and again, and nothing else may be done here
  // or with the tables except reading rows.
  void answer(int rank, PullRequest request, uint64_t clock, ReplyPtr& reply, SliceWork& work);

  // Answers the pulls of trainers that wait for room, as far as there is some.
  void answer_starved(uint64_t clock, SliceWork& work);

  // Keeps the pull until answer_waiting is called with a `may_pull` that allows its step.  Throws kExhausted
  // if there is no room for it, and then has not taken the reply.
  void wait(int rank, PullRequest request, ReplyPtr& reply);
  void answer_waiting(const std::function<bool(uint64_t step)>& may_pull, uint64_t clock, SliceWork& work);

  bool busy() const { return under_way_.has_value() || !ready_.empty(); }
  void go_on(uint64_t clock, SliceWork& work);

  PullHistory& history(int rank) { return histories_[static_cast<size_t>(rank)]; }
  const PullHistory& history(int rank) const { return histories_[static_cast<size_t>(rank)]; }
  bool keeps_answers() const { return keeps_answers_; }

  // To be called now and then.  If no room has come for longer than a connection may take nothing, the pulls
  // that wait for it are refused.
  void check_room(Time now);

  BufferPool& pool() { return answers_; }  // of answers to trainers
  uint64_t bytes_in_use() const { return answers_.bytes_in_use() + reads_.bytes_in_use(); }

  size_t num_waiting() const { return waiting_.size(); }  // pulls that wait for a step
  size_t num_starved() const {                            // pulls that wait for room, or for their turn
    return starved_.size() + reads_.num_waiting() + ready_.size() + (under_way_ ? 1 : 0);
  }
  void forget_unwanted();
  void release_replies(std::vector<ReplyPtr>& out);

  // For shard snapshots of shards that keep answers: saves the pulls that wait. load_waiting passes each of
  // them to `tell`.
  void save_waiting(std::string& out) const;
  static void load_waiting(ByteReader& in, const std::function<void(int rank, std::string_view pull)>& tell);

 private:
  // An answer of which some rows were read.
  struct UnderWay {
    WaitingPull pull;
    Buffer room;
    PullProgress progress = {};
  };

  void tell_room() {
    if (on_room_) on_room_();
  }
  void answer_or_wait(WaitingPull pull, uint64_t clock, ReplyPtr& reply, SliceWork& work);
  bool try_answer(WaitingPull& pull, uint64_t clock, SliceWork& work);
  void read_rows(uint64_t clock, SliceWork& work);
  void end_answer(uint64_t clock);
  bool answer_again(WaitingPull& pull);
  void remember(WaitingPull& pull, std::shared_ptr<const Payload> rows,
                std::shared_ptr<const PulledRows> pulled);
  std::optional<Buffer> find_room(uint64_t bytes);
  void count(const PullRequest& request);

  ShardTables& tables_;
  TableMemory& memory_;
  HeldMemory& held_;
  ShardCounters& counters_;
  const bool keeps_answers_;
  BufferPool answers_;  // to pulls to train
  ReadAnswers reads_;
  std::vector<PullHistory> histories_;  // by rank
  std::vector<WaitingPull> waiting_;    // pulls that wait for a step, in order of arrival

  std::deque<WaitingPull> ready_;      // those whose step has come, behind the one that is answered
  std::optional<UnderWay> under_way_;  // the pull that is answered, from call to call

  std::function<void()> on_room_;
  PullQueue starved_;                  // pulls of trainers that wait for room
  std::optional<Time> starved_since_;  // when check_room first saw them; nothing: one was answered since
};

}  // namespace ps

#endif  // PS_PS_SERVER_PULL_SERVICE_H_
