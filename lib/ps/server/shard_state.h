// What a shard remembers of its trainers and of what they wait for.  Used by Shard's own sources alone.
#ifndef PS_PS_SERVER_SHARD_STATE_H_
#define PS_PS_SERVER_SHARD_STATE_H_

#include <array>

#include "ps/server/shard.h"

namespace ps {

inline uint64_t num_rows(std::span<const RowSlice> parts) {
  uint64_t rows = 0;
  for (const RowSlice& part : parts) rows += part.rows();
  return rows;
}

// What one trainer pushes for one step.
struct Shard::Push {
  Push() = default;
  Push(Push&&) = default;

  int rank = 0;
  StepInfo info;
  bool ended = false;
  bool cut = false;
  uint32_t num_pieces = 1;
  std::map<uint32_t, PushRequest> pieces;
  std::map<uint32_t, std::shared_ptr<const PulledRows>> pulled;  // by piece, where a pull has found its rows
  std::vector<ReplyPtr> replies;       // to the last piece, more than one when it was sent again
  std::vector<ExactSquares> measured;  // of the step, once that was told to the trainer: apply is next

  bool complete() const { return pieces.size() == num_pieces; }
};

struct Shard::AnsweredPull {
  std::shared_ptr<const PullRequest> request;  // its parts are its push's too
  std::shared_ptr<const Payload> rows;  // what the answer was, should it have to be given again; or null
  std::shared_ptr<const PulledRows> pulled = nullptr;  // where it found its rows; null: not known
};

struct Shard::Trainer {
  Trainer() = default;
  Trainer(Trainer&&) = default;

  int rank = 0;
  uint64_t generation = 0;  // 0: not there yet
  int connections = 0;
  Time gone_since{};                       // without a connection
  bool ended = false;                      // has done all of the run
  bool given_up = false;                   // the others go on without it
  bool was_given_up = false;               // when this process came
  uint64_t next_step = 0;                  // the first that was not applied
  uint64_t batches = 0, pass_batches = 0;  // applied: in the run, in this pass
  std::map<uint64_t, Push> pushes;         // by step
  std::deque<Done> done;                   // of the steps before next_step, the last one last
  uint64_t pulled_at = 0;                  // asynchronous: steps applied when it pulled last
  bool marked = false;   // asynchronous: what it pushes from here on comes after the next checkpoint
  uint64_t mark_at = 0;  // and the last it was told of begins, for it, after so many of its steps

  std::string state;           // for checkpoints, as it told last; empty: it has not
  uint64_t state_batches = 0;  // how many it had then
  // What it had of its own when it told last, in pieces, and how many batches it had then: until it has done
  // more.
  TrainerStateChunks kept;
  std::optional<uint64_t> kept_batches = 0;
  bool knows_kept() const { return kept_batches == batches; }

  std::vector<std::string> former_states;  // of those whose part it takes up, until it does something

  // What it has pulled for steps that it has not pushed, by number: the push may say so instead of sending
  // the keys again.  In synchronous mode also for the last step that was applied here, until it is known to
  // be applied everywhere; `former_pulls` are those of the process before.
  std::map<uint64_t, AnsweredPull> pulls;
  std::vector<AnsweredPull> former_pulls;

  void remember(AnsweredPull&& pull) {
    constexpr size_t kMostPulls = 4096;  // of a whole message each: gigabytes of rows
    const uint64_t number = pull.request->number;
    if (number == 0) return;
    pulls.insert_or_assign(number, std::move(pull));
    if (pulls.size() > kMostPulls) pulls.erase(pulls.begin());
  }
  void forget_pulls_before(uint64_t step) {
    std::erase_if(pulls, [step](const auto& each) { return each.second.request->step < step; });
    std::erase_if(former_pulls, [step](const AnsweredPull& each) { return each.request->step < step; });
  }
};

struct Shard::WaitingPull {
  int rank;
  PullRequest request;
  ReplyPtr reply;
};

// Of a log that is read, and how many steps a checkpoint was then said to begin after.  kCut: what followed
// the image at once.
struct Shard::HeldEvent {
  ShardEvent event;
  int rank;
  std::string body;
  std::vector<uint64_t> cuts;
};

// What the trainers gather, and what the last gatherings came to, the newest first: should an answer be lost,
// and for who has to end its last pass again when all have ended the run.
struct Shard::Gathering {
  uint64_t number = 0;
  std::map<int, std::string> given;  // by rank
  std::vector<ReplyPtr> replies;
  std::array<std::string, 2> answers;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_STATE_H_
