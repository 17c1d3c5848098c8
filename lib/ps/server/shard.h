// Shard: one thread's share of the parameters, and the clock of their steps.  Knows nothing of connections:
// it takes requests, and answers each through its Reply, now or when the clock allows.  Used by ShardServer,
// and by tests directly.
//
// The clock counts the steps that all trainers have pushed.  Synchronous: a pull for step s waits until the
// clock is s; what the trainers push for step s is summed in rank order and applied once, then the clock goes
// on.  With staleness n a pull waits until the clock is s - n.  Asynchronous: every push is applied at once,
// and every trainer has a clock of its own.  A trainer without data pushes "ended"; a step that all end is
// not applied, but ends the pass.
//
// Exactly once: a push is known by trainer and step.  One that was applied is answered again, not applied
// again.
//
// A process that comes in place of one that died takes its rank up where that left off: at the first step
// that some shard has not applied.  Other shards may be a step ahead; in synchronous mode they answer its
// pull for the step that they have applied with what they answered the first time, so that it makes the same
// gradients again, bit for bit.
#ifndef PS_PS_SERVER_SHARD_H_
#define PS_PS_SERVER_SHARD_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/buffer_pool.h"
#include "net/frame.h"
#include "net/loop.h"
#include "optim/clipping.h"
#include "ps/log/shard_event.h"
#include "ps/server/memory_limits.h"
#include "ps/server/run_state.h"
#include "ps/server/shard_tables.h"
#include "ps/status/shard_status.h"
#include "ps/wire/consistency.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_status.h"
#include "ps/wire/trainer_state_chunks.h"

namespace ps {

// Where the answer to one request goes.  One of these is called, once.
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void answer(std::shared_ptr<const Payload> payload) = 0;
  virtual void fail(const Error& error) = 0;
  virtual bool wanted() const = 0;  // whether anybody waits for it
  void answer(Payload payload) { answer(std::make_shared<const Payload>(std::move(payload))); }
};
using ReplyPtr = std::unique_ptr<Reply>;

// Who a trainer is.
struct Member {
  int rank = 0;
  int trainers = 1;
  uint64_t generation = 0;  // of its process
  bool known = false;       // says that this shard has welcomed it before
  uint64_t run = 0;         // that the job's first shard told it; 0: this is the first shard
  bool going = false;       // some trainer has been welcomed by all shards of that run
};

// What becomes of a trainer without a connection, when the others wait for it.
struct TrainerLoss {
  Duration timeout = std::chrono::seconds(60);  // how long they wait
  bool go_on = false;                           // then they go on without it; else the run ends
};

// One owner thread.  Requests throw kData when they make no sense, kExhausted when there is no memory for
// what they would create or hold, and then have no effect; `reply` is taken only by those that do not throw.
class Shard {
 public:
  Shard(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const ShardPlace& place,
        const Consistency& consistency, const TrainerLoss& loss, const ShardLimits& limits = {});
  ~Shard();

  // A trainer has connected, or lost a connection.  Another process than before takes the rank's part in the
  // run up.  The next run, with the weights as they are, begins when a rank returns that has ended the last
  // one, or trainers of another number come, and none of the last run has a connection, or none has had one
  // for the timeout: the job's first shard
  // judges that, the others begin with those whom it sends.
  //
  // join throws kUnavailable while another process has the rank or the last run goes on, kStateLost when the
  // trainer's run is no more, kFenced when it goes on without it, kUsage when the trainers disagree on their
  // number.
  RunStatus join(const Member& member, Time now);
  void leave(const Member& member, Time now);
  // Throws kStateLost unless this member, who has joined, takes part in the run.
  void check(const Member& member) const;

  // A trainer has done all that it has to do in this run.
  void end_run(int rank);

  void pull(int rank, PullRequest request, ReplyPtr& reply);
  void push(int rank, PushRequest request, ReplyPtr& reply);
  // Applies a step whose pushes were answered with squares.
  void apply(int rank, ApplyRequest request, ReplyPtr& reply);
  void gather(int rank, uint64_t number, std::string bytes, ReplyPtr& reply);

  // Reads without taking part in steps; answered at once.
  Payload read(const PullRequest& request);
  std::string keys(const KeysRequest& request) const;
  void load(const PushRequest& request);
  RowReport row_report(uint32_t parameter) const { return tables_.row_report(parameter); }

  // For checkpoints.  `begin` is called after the step, of so many, with which one begins: that of the tables
  // and states as they then are; it begins on all shards after the same.  `wanted` is asked, at the job's
  // first shard alone, whether one is to begin when so many steps are applied.  Those `at_end` of a pass are
  // begun unasked, whatever else is being written: with `at_ends` of every pass, else of those of which a
  // trainer says so.
  //
  // Asynchronous trainers are told, each with the answer to a push, that its next push is its mark.  A shard
  // applies marks as they come, but nothing that a trainer pushes after its own, until it has those of all
  // who have data left: so every push is in the checkpoint of all shards, or in none.  Pulls do not wait.
  void on_cut(std::function<void(uint64_t step, bool at_end)> begin,
              std::function<bool(uint64_t step)> wanted, bool at_ends = true);

  // The pass after whose end nothing was applied yet.
  std::optional<uint64_t> pass_just_ended() const;

  // `finished` is called, at the job's first shard, when the trainers have done all that there is to do; they
  // hear of it after confirm_end, when the end counts: who hears of it may be gone for good.
  void on_finished(std::function<void(uint64_t passes)> finished);
  void confirm_end();
  ShardTables& tables() { return tables_; }
  std::map<std::string, std::string> states() const;
  SharedStates kept_states() const;

  // What trainers had told for the checkpoint in which this one begins: itself, or several whose part it
  // takes, or part of one's.  Nothing once it has done a batch.
  Payload trainer_states(int rank);

  // A piece of what the trainer had of its own when it told this shard last.
  Payload kept_piece(int rank, uint32_t number);

  // Before the first run: puts back what a checkpoint has of this shard, and the run that then begins goes
  // on from there.  Throws as ShardTables::restore.
  void restore(const CheckpointReader& reader);

  // For logs.  `changed` is told of every change before it is made.  What save_snapshot writes after a step,
  // and the tables as they then are, make a shard with which replay goes on: it makes the same changes again,
  // begins the same checkpoints, and answers nobody.  All is done after end_replay.  They throw kCorrupt when
  // what they are given makes no sense.
  void on_change(ShardEventSink changed) { changed_ = std::move(changed); }
  std::string save_snapshot() const;
  void load_snapshot(std::string_view image);
  void replay(ShardEvent event, int rank, std::string_view body, Time now);
  void end_replay(Time now);

  uint64_t run() const { return run_; }  // 0: none has begun

  // Looks for trainers that have been gone for too long while others wait: goes on without them, or fails
  // what waits with kFenced, which says that the run cannot go on.  To be called now and then.
  void check_trainers(Time now);

  // Fails all that waits.
  void refuse_waiting(const Error& error);

  size_t num_waiting() const;  // requests that are not answered
  Widths widths() const { return tables_.widths(); }
  uint64_t clock() const { return clock_; }
  uint64_t cut_number() const;  // of a checkpoint that would begin now
  const ShardCounters& counters() const { return counters_; }

  // Fills in what a shard knows of its status.
  void describe(ShardStatus& status) const;

 private:
  struct Push;
  struct Trainer;
  struct WaitingPull;
  struct AnsweredPull;
  struct Gathering;
  struct HeldEvent;

  bool running() const;
  bool is_left(Time now) const;
  bool begins_run(const Member& member, Time now) const;
  void admit(const Member& member, Time now);
  [[noreturn]] void refuse_known(const Member& member, bool begins) const;
  void begin_run(const Member& member, Time now);
  // Tells of a change; body() is what its event has.
  template <class Body>
  void note(ShardEvent event, int rank, Body&& body) const {
    if (changed_) changed_(event, rank, body());
  }
  void save_trainer(const Trainer& trainer, std::string& out) const;
  void load_trainer(ByteReader& in, Trainer& trainer);
  bool ask_cut(uint64_t number) const;
  void make_held_event(Time now);
  void resume_from_snapshot();
  void make_again(ShardEvent event, int rank, std::string_view body, Time now);
  void pull_again(int rank, std::string_view body, ReplyPtr& reply);
  void take_over(Trainer& trainer, uint64_t generation);
  void enter(Trainer& trainer);
  void go_on_from(const RunState& state);
  RunStatus run_status(const Trainer& trainer) const;
  Trainer& trainer(int rank);
  void check_push(const Trainer& trainer, const PushRequest& request) const;
  void complete(Trainer& trainer, PushRequest& request);
  bool answer_repeated(Trainer& trainer, uint64_t step, ReplyPtr& reply);
  void apply_complete(Trainer& trainer);
  Push& pending_push(Trainer& trainer, const PushRequest& request);
  void check_room_to_hold(uint64_t bytes);
  void check_room_for_kept(uint64_t bytes);
  [[noreturn]] void refuse_to_hold(uint64_t bytes);
  Buffer take_answer(uint64_t bytes);
  Payload make_answer(const PullRequest& request, const std::function<void(char*)>& fill);
  void check_answers(Time now);
  Push* next_push(Trainer& trainer) const;
  std::vector<Trainer*> next_pushers();
  void apply_synchronous();
  void apply_asynchronous(Trainer& trainer);
  void end_asynchronous_pass();
  StepInfo sum_up(std::span<Push* const> pushes) const;
  std::vector<std::vector<Contribution>> contributions_of(std::span<Push* const> pushes,
                                                          const StepInfo& total) const;
  bool measure(std::span<Push* const> pushes);
  void answer_measured(Push& push, const std::vector<ExactSquares>& squares);
  void apply_step(std::span<Push* const> pushes);
  void finish(Trainer& trainer, const Done& done);
  uint64_t next_cut();
  uint64_t next_mark(Trainer& trainer);
  bool has_data_left(Trainer& trainer) const;
  void begin_aligned_cut();
  void take_state(Trainer& trainer, Push& push, uint64_t batches);
  void take_kept(Trainer& trainer, Push& push);
  bool set_aside_kept(uint64_t more);
  void restore_kept(const CheckpointReader& reader);
  void give_to_all();
  uint64_t kept_bytes() const;
  void end_pass();
  bool may_pull(uint64_t step) const;
  std::shared_ptr<const Payload> former_answer(const Trainer& puller, const PullRequest& request) const;
  void answer_pull(Trainer& puller, PullRequest request, Reply& reply);
  void answer_waiting_pulls();
  void finish_gathering();
  bool gave_end(const Trainer& trainer) const;
  bool anything_waits() const;
  void forget_unwanted();
  std::vector<Trainer*> missing_trainers(Time now);
  void go_on_without(std::span<Trainer* const> missing);

  const Clipping clipping_;
  TableMemory memory_;
  ShardTables tables_;
  StepRule rule_;
  const Consistency consistency_;
  const TrainerLoss loss_;
  const bool keeps_pulls_;
  const bool is_first_;  // with dense parameters, of the job
  ShardCounters counters_;
  std::optional<Error> broken_;  // a step failed half way: nothing goes on from here
  BufferPool held_;              // rows that wait for other trainers: not the connections' memory
  BufferPool answers_;           // to pulls
  bool starved_ = false, starved_for_long_ = false;  // without room for answers
  std::optional<Time> starved_since_;                // seen from check_answers

  std::optional<std::vector<double>> whole_squares_;  // of the step that is being applied

  std::function<void(uint64_t, bool)> begin_cut_;  // null: there are no checkpoints
  std::function<bool(uint64_t)> cut_wanted_;       // null: another shard says when
  bool cut_at_ends_ = true;                        // of all passes
  std::function<void(uint64_t)> finished_;         // may be null
  bool end_confirmed_ = false;
  std::optional<RunState> restored_;               // until a run begins with it
  std::vector<std::string> restored_states_;       // of its trainers
  std::vector<TrainerStateChunks> restored_kept_;  // likewise
  ShardEventSink changed_;                         // null: nobody is told
  bool resumed_ = false;                           // from a log, whose end may be lost
  std::unique_ptr<HeldEvent> held_event_;          // to be made again: what follows it belongs to it

  // Of the run.
  uint64_t run_ = 0;
  bool going_ = false;   // a trainer that all shards have welcomed has asked for something
  uint64_t cut_at_ = 0;  // of the next checkpoint, once that is known
  bool marks_ = false;   // asynchronous: trainers are told to mark what they push
  uint64_t clock_ = 0, pass_ = 0;
  std::vector<Trainer> trainers_;  // by rank
  std::vector<WaitingPull> waiting_pulls_;
  std::unique_ptr<Gathering> gathering_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_H_
