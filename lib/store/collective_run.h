// CollectiveRun: the run of trainers without servers.  They have its ends and its checkpoints in common by what each
// asks for in a step's exchange.  Used by strategies without servers, and by AllReduceStore, which exchanges.
#ifndef PS_STORE_COLLECTIVE_RUN_H_
#define PS_STORE_COLLECTIVE_RUN_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/run_control.h"

namespace ps {

// The wishes of one trainer before a step; or, after it, those that at least one trainer had.
struct StepWishes {
  bool checkpoint = false;  // after the step
  bool end = false;         // after the step

  void add(const StepWishes& other) { checkpoint |= other.checkpoint, end |= other.end; }
};

// One owner thread.
class CollectiveRun final : public RunControl, private PeerCheckpoints {
 public:
  // `keep_alive` is called now and then while this trainer saves a model: the others hear that it lives.
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

  // For whoever exchanges.  end_step is called by all trainers, with the wishes of all.
  StepWishes wishes();
  void end_step(const StepWishes& of_all);
  bool ends() const { return ends_; }

  // This trainer was told to end, or knows that all are to.
  bool is_to_end() const { return ends_ || end_asked_; }

 private:
  void on_checkpoint(std::function<bool()> due, std::function<void()> take) override {
    due_ = std::move(due);
    take_ = std::move(take);
  }
  void ask() override { checkpoint_asked_ = true; }

  const int rank_;
  const std::function<void()> keep_alive_;
  std::function<bool()> due_ = [] { return false; };
  std::function<void()> take_ = [] {};
  bool checkpoint_asked_ = false;  // of this trainer, and not taken yet
  bool end_asked_ = false;         // of this trainer
  bool ends_ = false;              // all know
};

}  // namespace ps

#endif  // PS_STORE_COLLECTIVE_RUN_H_
