// CollectiveRun: the run of trainers without servers.  In the exchange of each step, every trainer sends its
// wishes, so that all trainers take checkpoints and end after the same steps.  Used by strategies without
// servers, and by AllReduceStore, which makes the exchanges.
#ifndef PS_STORE_COLLECTIVE_RUN_H_
#define PS_STORE_COLLECTIVE_RUN_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/run_control.h"

namespace ps {

// The wishes of one trainer before a step; after the exchange, the wishes that at least one trainer has.
struct StepWishes {
  bool checkpoint = false;  // after the step
  bool end = false;         // after the step

  void add(const StepWishes& other) { checkpoint |= other.checkpoint, end |= other.end; }
};

// One owner thread.
class CollectiveRun final : public RunControl, private PeerCheckpoints {
 public:
  // `keep_alive` is called now and then while this trainer saves a model; it lets the other trainers know
  // that this one lives.
  CollectiveRun(int rank, std::function<void()> keep_alive)
      : rank_(rank), keep_alive_(std::move(keep_alive)) {}

  uint64_t id() const override { return 0; }
  RunPosition position() const override { return {}; }
  bool finished() const override { return false; }
  std::vector<std::string> restored_states() override { return {}; }

  // Trainer 0 saves all models.
  Saver elect_saver(SaveStage, const std::string&) override {
    keep_alive_();
    return {.elected = rank_ == 0, .rank = 0};
  }
  ServerCheckpoints* checkpoints() override { return nullptr; }
  PeerCheckpoints* peer_checkpoints() override { return this; }
  bool stops(bool asked) override {
    end_asked_ |= asked;
    return ends_;
  }
  void end_run() override {}
  void leave_run() override {}

  // For the code that makes the exchanges.  Every trainer calls end_step after each step, with the wishes of
  // all trainers.
  StepWishes wishes();
  void end_step(const StepWishes& of_all);
  bool ends() const { return ends_; }

 private:
  void on_checkpoint(std::function<bool()> due, std::function<void()> take) override {
    due_ = std::move(due);
    take_checkpoint_ = std::move(take);
  }
  void ask() override { checkpoint_asked_ = true; }

  const int rank_;
  const std::function<void()> keep_alive_;
  std::function<bool()> due_ = [] { return false; };
  std::function<void()> take_checkpoint_ = [] {};
  bool checkpoint_asked_ = false;  // this trainer was asked for a checkpoint that was not taken yet
  bool end_asked_ = false;         // this trainer was asked to end
  bool ends_ = false;              // all trainers end after this step
};

}  // namespace ps

#endif  // PS_STORE_COLLECTIVE_RUN_H_
