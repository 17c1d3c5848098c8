// What a shard remembers of its trainers and of what they wait for.  Used by Shard's own sources alone.
#ifndef PS_PS_SHARD_STATE_H_
#define PS_PS_SHARD_STATE_H_

#include "ps/shard.h"

namespace ps {

// What one trainer pushes for one step.
struct Shard::Push {
  Push() = default;
  Push(Push&&) = default;

  int rank = 0;
  StepInfo info;
  bool ended = false;
  uint32_t num_pieces = 1;
  std::map<uint32_t, PushRequest> pieces;
  std::vector<ReplyPtr> replies;       // to the last piece, more than one when it was sent again
  std::vector<ExactSquares> measured;  // of the step, once that was told to the trainer: apply is next

  bool complete() const { return pieces.size() == num_pieces; }
};

struct Shard::Trainer {
  Trainer() = default;
  Trainer(Trainer&&) = default;

  int rank = 0;
  uint64_t generation = 0;  // 0: not there yet
  int connections = 0;
  Time gone_since{};                // without a connection
  uint64_t next_step = 0;           // the first that was not applied
  std::map<uint64_t, Push> pushes;  // by step
  std::deque<Done> done;            // of the steps before next_step, the last one last
  uint64_t pulled_at = 0;           // asynchronous: steps applied when it pulled last

  // What it has pulled for steps that it has not pushed, by number: the push may say so instead of sending
  // the keys again.
  std::map<uint64_t, PullRequest> pulls;

  void remember(PullRequest&& pull) {
    constexpr size_t kMostPulls = 4096;  // of a whole message each: gigabytes of rows
    if (pull.number == 0) return;
    pulls.insert_or_assign(pull.number, std::move(pull));
    if (pulls.size() > kMostPulls) pulls.erase(pulls.begin());
  }
  void forget_pulls(uint64_t step) {
    std::erase_if(pulls, [step](const auto& each) { return each.second.step <= step; });
  }
};

struct Shard::WaitingPull {
  int rank;
  PullRequest request;
  ReplyPtr reply;
};

// What the trainers gather, and what the last gathering came to, should an answer be lost.
struct Shard::Gathering {
  uint64_t number = 0;
  std::map<int, std::string> given;  // by rank
  std::vector<ReplyPtr> replies;
  std::string last;
};

}  // namespace ps

#endif  // PS_PS_SHARD_STATE_H_
