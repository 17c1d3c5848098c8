// TrainerStateLink: the state that a trainer alone has, on its way to the servers' checkpoints and back: how far
// its pass has come, its residuals, and the copies of a trainer that has some.  Used by RemotePushes, which
// sends it with a step, and by RemoteRun, which takes it up.
//
// State is told in chunks behind the rows of a push: then it is in the checkpoint that begins after the step, or in
// none.  Chunks are dealt over all shards, which need not have the rows that they are of.
#ifndef PS_PS_CLIENT_TRAINER_STATE_LINK_H_
#define PS_PS_CLIENT_TRAINER_STATE_LINK_H_

#include <cstdint>
#include <functional>
#include <memory>
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

// The state that one push tells.
class ToldState {
 public:
  ToldState(size_t rank, size_t num_shards) : rank_(rank), num_shards_(num_shards) {}

  std::vector<std::unique_ptr<StateChunkSource>> sources;  // none: no chunks are told of

  size_t num_chunks() const;
  std::string encode(size_t chunk) const;
  size_t shard_of(size_t chunk) const { return (rank_ + chunk) % num_shards_; }

  // Messages to a shard: its chunks, and one that says that there are no more.
  size_t num_messages(size_t shard) const;

 private:
  size_t rank_, num_shards_;
};

// One owner thread.
class TrainerStateLink {
 public:
  // `own`, where there is one, is told and taken up beside residuals.  All outlive this.
  TrainerStateLink(ShardLinks& links, Residuals& residuals, TrainerState* own, const RowTypes& types,
                   int rank);

  // `save` writes the trainer's figures, when they are told.
  void on_checkpoint(std::function<void(std::string& out)> save) { save_figures_ = std::move(save); }

  // Returns what the next push is to tell: all with the last push before a checkpoint (`cut`), and once when
  // the trainer has no data left, as then it may push nothing more before one.
  ToldState next(bool cut, bool ended);

  // Sends it.  headers[s] is the header of the next message of the push to shard s; `send` sends one, which
  // has no rows.  Waits while too many chunks are on their way.
  using Send = std::function<void(size_t shard, const PushHeader& header, std::function<void()> on_answer)>;
  void tell(const ToldState& told, std::span<PushHeader> headers, const Send& send);

  // Resumes from the chunks of the process before this one, or of the checkpoint in which the run began, as of
  // `batches` batches of this trainer.  Where shards do not have them any more, throws StateLost if the run
  // would not be the same without them, unless the rank was given up.
  void resume(uint64_t batches, bool given_up, const Consistency& consistency);

  // The figures with which this process resumed, its own or those of several trainers, by rank; empty the next time.
  std::vector<std::string> take_figures();

 private:
  const RunStatus& run_status() const { return links_.welcome(0).run_status; }
  void send_chunk(size_t shard, PushHeader& header, std::string chunk, const Send& send,
                  std::function<void()> on_answer);
  void check_not_missed(bool given_up, const Consistency& consistency) const;
  StateChunkAnswer ask(size_t shard, uint32_t number, Frame& frame);
  void take_of(size_t shard, uint64_t batches);
  void take(std::string_view chunk);

  ShardLinks& links_;
  Residuals& residuals_;
  TrainerState* const own_;  // null: none
  const uint64_t chunk_bytes_;
  const size_t rank_;
  std::function<void(std::string&)> save_figures_;  // null: there are none
  std::vector<FiguresChunk> figures_;               // that were resumed from
  bool told_ = false;                               // with the last push, or one before it that ended too
  size_t on_their_way_ = 0;                         // chunks
};

}  // namespace ps

#endif  // PS_PS_CLIENT_TRAINER_STATE_LINK_H_
