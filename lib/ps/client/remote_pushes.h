// RemotePushes: the steps of a trainer on their way to the shards: its gradients, the end of its passes, and what
// the shards answer.  Used by RemoteStore.
//
// Steps are numbered from 0 from the beginning of the run.  A push returns when it is on its way; a trainer may
// be ahead of the shards by as many steps as the job's consistency lets it.
#ifndef PS_PS_CLIENT_REMOTE_PUSHES_H_
#define PS_PS_CLIENT_REMOTE_PUSHES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "math/exact_squares.h"
#include "ps/client/remote_pulls.h"
#include "ps/client/residuals.h"
#include "ps/client/shard_links.h"
#include "ps/client/trainer_state_link.h"
#include "ps/wire/consistency.h"
#include "ps/wire/protocol.h"
#include "store/parameter_store.h"

namespace ps {

// One owner thread.
class RemotePushes {
 public:
  // The objects of the store that it uses; they outlive this.
  struct Context {
    ShardLinks& links;
    const std::vector<ParameterSpec>& specs;
    RemotePulls& pulls;
    Residuals& residuals;
    TrainerStateLink& states;
  };
  RemotePushes(const Context& context, const Consistency& consistency, RowType type,
               std::function<bool(int64_t pass)> checkpoint_at_end);

  // From now on another process of this rank pushes the parameters of compute trainers, before this one pushes a step.
  void leave_to_compute();

  // The next step, and the newest checkpoint that shards have told of, which begins after so many.
  void begin_at(uint64_t step, uint64_t checkpoint_at);
  uint64_t next_step() const { return step_; }

  // Returns the first step that some shard may not have applied.
  uint64_t applied_steps() const { return unanswered_.empty() ? step_ : unanswered_.begin()->first; }

  // For a process that takes up the rank of one that was ahead: has the shards apply the steps from `first` on, up to
  // the next, all of which they hold.
  void finish_held(uint64_t first);

  // Sends the gradients of the batch that was pulled last.
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info);

  // Sends empty steps until no trainer has data left in the pass.
  void end_pass(int64_t pass);

  // The same, but asks for some of what lost trainers have left.  Returns true when that was dealt, and false when the pass
  // has ended nevertheless, which end_pass then has no need to wait for.
  bool ask_for_rest(int64_t pass);

  // For a store that has some of the parameters itself (HybridStore).  The parts of end_pass: this trainer has no data left
  // in the pass; it sends an empty step; and waits for that, which returns true when no trainer has data left.
  void begin_pass_end(int64_t pass);
  void push_without_data(int64_t pass) { send_step({}, {0, pass}, StepData::kNone); }
  bool finish_pass_step();

  // Returns true when a checkpoint begins after the next step.  Waits until the step before is answered.
  bool next_begins_checkpoint();

  // A step that servers have measured is then applied when apply() is called, instead of at once.
  // wait_for_squares returns the squares of the whole gradient of the last step, by parameter.
  void leave_applying() { leaves_applying_ = true; }
  std::vector<double> wait_for_squares();
  void apply(std::vector<double> squares);

  // For trainers that are ahead together.  From hold_back on this one tells no shard that all hold a step, before go_on.
  // Waits until the shards have taken all that was sent; returns how many steps of the run each has applied.  When all
  // trainers hold back, no shard applies anything, and all have applied as many.
  std::vector<uint64_t> hold_back();
  void go_on();

  // Waits until all steps below `step` are applied; of all that were sent.
  void wait_for_steps_before(uint64_t step);
  void finish() { wait_for_steps_before(step_); }

  // Waits as finish does, for some time at most; after this time it forgets the steps that are not applied.
  void settle(double seconds);

  // Returns true when the latest step that shards have answered has ended a pass.
  bool pass_ended() const { return last_done_.pass_ended; }

  // Returns the learning rate of the latest step that shards have answered.
  double learning_rate() const { return last_done_.learning_rate; }

  // Returns the last pass at the end of which this trainer has asked for a checkpoint; -1: none.
  int64_t checkpoint_pass() const { return checkpoint_pass_; }

  // Returns how many gradients were dropped because they came too late, each counted once a shard.
  int64_t dropped() const { return dropped_; }

 private:
  // A step has a batch of this trainer's data, or none; kAsks: none, and it asks for some of the rest of the pass.
  enum class StepData { kBatch, kNone, kAsks };

  // A step that some shard has not applied yet.
  struct Unanswered {
    size_t shards = 0, pushed = 0;      // that have not applied it; that have answered its push
    size_t ended = 0, dealt = 0;        // that have ended the pass with it, or dealt its rest
    std::vector<size_t> measured;       // shards that wait for the squares of the whole gradient, or to hear
                                        // that all hold the step
    std::vector<ExactSquares> squares;  // of these, by parameter
  };

  void count_elsewhere(std::span<const KeyPlan> plans);
  void send_step(std::span<const ParameterView<float>> views, const StepInfo& info, StepData data);
  void send_rows(size_t shard, PushHeader header, Bundle& bundle,
                 std::span<const ParameterView<float>> views);
  void send(size_t shard, const PushHeader& header, Payload payload, std::function<void()> on_answer = {});
  void pushed(size_t shard, uint64_t step, const Frame& frame);
  void apply_measured(uint64_t step);
  void apply_measured(uint64_t step, std::vector<double> squares);
  Done read_done(uint64_t step, const Frame& frame);
  void finish_step(uint64_t step);

  const Context context_;
  const Consistency consistency_;
  const RowType type_;  // of gradients
  const std::function<bool(int64_t pass)> checkpoint_at_end_;

  std::vector<uint32_t> sent_elsewhere_;       // messages of a step that another process sends, by shard
  bool elsewhere_by_keys_ = false;             // batches differ in how many these are
  uint64_t step_ = 0;                          // the next to be pushed
  std::map<uint64_t, Unanswered> unanswered_;  // by step
  bool holds_back_ = false;
  std::vector<uint64_t> held_back_;          // steps of which shards are to be told that all hold them
  Done last_done_;                           // of the latest step that shards have answered,
  uint64_t done_step_ = 0;                   // and its number
  uint64_t whole_step_ = 0;                  // the latest that all shards have answered:
  bool pass_ended_ = false, dealt_ = false;  // all of them have ended the pass with it, or dealt its rest
  int64_t ended_pass_ = -1;                  // which has ended while this trainer asked for its rest
  uint64_t checkpoint_at_ = 0;  // steps after which the newest checkpoint begins that shards have told of
  int64_t checkpoint_pass_ = -1;
  bool leaves_applying_ = false;
  int64_t dropped_ = 0;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_PUSHES_H_
