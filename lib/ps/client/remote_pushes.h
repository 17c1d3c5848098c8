// RemotePushes: sends the steps of a trainer to the shards, with its gradients and the ends of its passes, and
// handles the answers.  Used by RemoteStore.
//
// Steps are numbered from 0, from the beginning of the run.  A push returns when it is on its way.  A trainer may
// be ahead of the shards by as many steps as the job's consistency allows.
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
#include "ps/wire/run_status.h"
#include "store/parameter_store.h"

namespace ps {

// One owner thread.
class RemotePushes {
 public:
  // The objects of the store that this uses; they outlive it.
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

  // Sets the number of the next step, and the number of steps after which the newest known checkpoint begins.
  void begin_at(uint64_t step, const RunStatus& status);
  uint64_t next_step() const { return step_; }

  // Returns the first step that some shard may not have applied.
  uint64_t applied_steps() const { return unanswered_.empty() ? step_ : unanswered_.begin()->first; }

  // For a process that resumes the rank of a trainer that was ahead: makes the shards apply the steps from
  // `first` up to the next one, all of which they hold.
  void finish_held(uint64_t first);

  // Sends the gradients of the batch that was pulled last.
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info);

  // Sends empty steps until no trainer has data left in the pass.
  void end_pass(int64_t pass);

  // Sends empty steps too, and asks for a part of the data that lost trainers have left.  Returns true when this
  // data has been dealt, and false when the pass has ended instead; end_pass then does not wait again.
  bool ask_for_rest(int64_t pass);

  // The parts of end_pass, for a store that has some of the parameters itself (HybridStore). begin_pass_end
  // says that this trainer has no data left in the pass. push_without_data sends an empty step.
  // finish_pass_step waits for it, and returns true if no trainer has data left.
  void begin_pass_end(int64_t pass);
  void push_without_data(int64_t pass) { send_step({}, {0, pass}, StepData::kNone); }
  bool finish_pass_step();

  // Returns true when a checkpoint begins after the next step.  Waits until the step before is answered.
  bool next_begins_checkpoint();

  // After leave_committing, servers apply a step when commit() is called, instead of as soon as all have sent the
  // squares of their clip norms. wait_for_squares returns the squares of the whole gradient of the last step, by parameter.
  void leave_committing(bool leaves = true) { leaves_committing_ = leaves; }
  std::vector<double> wait_for_squares();
  void commit(std::vector<double> squares);

  // For several trainers that are ahead.  From hold_back to go_on, this trainer tells no shard that all shards
  // hold a step. hold_back waits until the shards have taken all messages, and returns the number of steps of
  // the run that each has applied.  While all trainers hold back, no shard applies a step, so that all shards
  // have applied the same number.
  std::vector<uint64_t> hold_back();
  void go_on();

  // Wait until all steps below `step` are applied, or all steps that were sent.
  void wait_for_steps_before(uint64_t step);
  void finish() { wait_for_steps_before(step_); }

  // Waits as finish does, for at most this time; then it forgets the steps that are not applied.
  void settle(double seconds);

  // Returns true when the latest step that shards have answered has ended a pass.
  bool pass_ended() const { return last_done_.pass_ended; }

  // Returns the learning rate of the latest step that shards have answered.
  double learning_rate() const { return last_done_.learning_rate; }

  // Returns the last pass at the end of which this trainer has asked for a checkpoint; -1: none.
  int64_t checkpoint_pass() const { return checkpoint_pass_; }

  // Returns the number of gradients that were dropped because they came too late, each counted once for each
  // shard.
  int64_t dropped() const { return dropped_; }

 private:
  // The next checkpoint as the first shard has told it; 0: it has told nothing.
  struct CheckpointNumbers {
    uint64_t at = 0;          // number of steps after which it begins
    uint64_t number = 0;      // its number
    uint64_t end_number = 0;  // number of the one at the end of the pass, if nobody has data any more
  };

  // The data of a step: a batch of this trainer, or none. kAsks has none, and asks for a part of the data that
  // lost trainers have left.
  enum class StepData { kBatch, kNone, kAsks };

  // A step that some shard has not applied yet.
  struct Unanswered {
    size_t shards = 0, pushed = 0;  // numbers of shards that have not applied it, and that have answered
    size_t ended = 0, dealt = 0;    // numbers of shards that ended the pass with it, or dealt the rest
    std::vector<size_t>
        waiting_for_commit;             // shards that wait for the squares of the whole gradient, or to hear
                                        // that all hold the step
    std::vector<ExactSquares> squares;  // by parameter: the sum over these shards
  };

  void count_elsewhere(std::span<const KeyPlan> plans);
  void send_step(std::span<const ParameterView<float>> views, const StepInfo& info, StepData data);
  void send_rows(size_t shard, PushHeader header, Bundle& bundle,
                 std::span<const ParameterView<float>> views);
  void send(size_t shard, const PushHeader& header, Payload payload, std::function<void()> on_answer = {});
  void pushed(size_t shard, uint64_t step, const Frame& frame);
  void commit_step(uint64_t step);
  void send_commit(uint64_t step, std::vector<double> squares);
  Done read_done(uint64_t step, const Frame& frame);
  void finish_step(uint64_t step);

  const Context context_;
  const Consistency consistency_;
  const RowType type_;  // type of gradients
  const std::function<bool(int64_t pass)> checkpoint_at_end_;

  std::vector<uint32_t> sent_elsewhere_;       // by shard: messages of a step that another process sends
  bool elsewhere_by_keys_ = false;             // these numbers differ from batch to batch
  uint64_t step_ = 0;                          // number of the next step
  std::map<uint64_t, Unanswered> unanswered_;  // by step
  bool holds_back_ = false;
  std::vector<uint64_t> held_back_;          // steps that all shards hold and that go_on applies
  Done last_done_;                           // the answer to the latest answered step
  uint64_t done_step_ = 0;                   // the number of that step
  uint64_t whole_step_ = 0;                  // the latest step that all shards have answered
  bool pass_ended_ = false, dealt_ = false;  // all shards ended the pass with that step, or dealt its rest
  int64_t ended_pass_ = -1;                  // the pass that ended while this trainer asked for its rest
  CheckpointNumbers next_checkpoint_;
  int64_t checkpoint_pass_ = -1;
  bool leaves_committing_ = false;
  int64_t dropped_ = 0;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_PUSHES_H_
