// TrainerStateLink: sends the state that only this trainer has to the servers, for their checkpoints, and gets
// it back when the trainer resumes.  This state is the position in the pass, the residuals, and the trainer's
// own copies of weights if it has some.  Used by RemotePushes, which sends the state with a step, and by
// RemoteRun, which restores it.
//
// The state travels as trainer state chunks behind the rows of a push, so that the checkpoint that begins after the step
// contains all of them.  The chunks are dealt over all shards; a shard may store chunks of rows that other shards own.
#ifndef PS_PS_CLIENT_TRAINER_STATE_LINK_H_
#define PS_PS_CLIENT_TRAINER_STATE_LINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ps/client/residuals.h"
#include "ps/client/shard_links.h"
#include "ps/wire/consistency.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_messages.h"
#include "ps/wire/trainer_state_chunks.h"

namespace ps {

// The trainer state that is sent with one push.
class PushedState {
 public:
  PushedState(size_t rank, size_t num_shards) : rank_(rank), num_shards_(num_shards) {}

  std::vector<std::unique_ptr<StateChunkSource>> sources;  // empty: no state is sent with this push

  size_t num_chunks() const;
  std::string encode(size_t chunk) const;
  size_t shard_of(size_t chunk) const { return (rank_ + chunk) % num_shards_; }

  // Returns the number of messages to a shard: its chunks, and one that says that there are no more.
  size_t num_messages(size_t shard) const;

 private:
  size_t rank_, num_shards_;
};

// One owner thread.
class TrainerStateLink {
 public:
  // `own`, which may be null, is state that is sent and restored beside the residuals.  All arguments outlive this.
  TrainerStateLink(ShardLinks& links, Residuals& residuals, TrainerState* own, const RowTypes& types,
                   int rank);

  // `save` is called when state is sent, and writes the trainer's figures.
  void on_checkpoint(std::function<void(std::string& out)> save) { save_figures_ = std::move(save); }

  // Returns the state to be sent with the next push.  All state is sent with the last push before a checkpoint
  // (`begins_checkpoint`), and with the first push that says that the trainer has no data left (`ended`), since the trainer
  // may push nothing more before the next checkpoint.  With every other push the result is empty.
  PushedState next(bool begins_checkpoint, bool ended);

  // Sends the state.  headers[s] is the header of the next message of the push to shard s; `send` sends one message,
  // which has a chunk and no rows.  Waits while too many chunks are on their way.
  using Send = std::function<void(size_t shard, const PushHeader& header, std::function<void()> on_answer)>;
  void push(const PushedState& state, std::span<PushHeader> headers, const Send& send);

  // Resumes from the chunks of the earlier process, or from those of the checkpoint with which the run began.
  // They must belong to `batches` batches of this trainer, and all have come from one process.  If shards do not have
  // them any more, and the run would not be the same without them, throws StateLost, unless the rank was given up.
  void resume(uint64_t batches, bool given_up, const Consistency& consistency);

  // Returns the figures with which this process resumed, its own or those of several trainers, by rank.  The
  // next call returns none.
  std::vector<std::string> release_figures();

 private:
  const RunStatus& run_status() const { return links_.welcome(0).run_status; }
  void send_chunk(size_t shard, PushHeader& header, std::string chunk, const Send& send,
                  std::function<void()> on_answer);
  void check_not_missed(bool given_up, const Consistency& consistency) const;
  Frame ask(size_t shard, uint32_t number);
  bool read_chunks(size_t shard, uint64_t batches, std::optional<uint64_t>& sender,
                   std::vector<Frame>& answers);
  void restore(std::string_view chunk);

  ShardLinks& links_;
  Residuals& residuals_;
  TrainerState* const own_;  // null: this trainer has no such state
  const uint64_t chunk_bytes_;
  const size_t rank_;
  std::function<void(std::string&)> save_figures_;  // null: there are no figures
  std::vector<FiguresChunk> figures_;               // the figures in the chunks that were restored
  bool pushed_ = false;                             // shards have the state since the last push with data
  size_t on_their_way_ = 0;                         // number of chunks
};

}  // namespace ps

#endif  // PS_PS_CLIENT_TRAINER_STATE_LINK_H_
