// RunControl: one trainer's interface to the run of its job: it says where the trainer begins, elects the
// trainer that saves, ends the run, and gives access to the checkpoints of the servers.  Used by run_job and
// RunSaves.
#ifndef PS_STORE_RUN_CONTROL_H_
#define PS_STORE_RUN_CONTROL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "membership/saver.h"
#include "store/data_strand.h"

namespace ps {

// The position of a rank in its data when a process gets the rank: the batches that earlier processes have
// trained.
struct RunPosition {
  bool resumed = false;
  int64_t pass = 0;
  int64_t pass_batches = 0;  // batches of this rank in this pass that are trained already
  // All batches of the pass are trained, but the work after the last one may not be done.
  bool pass_ended = false;
  int64_t batches = 0;  // batches of this rank in all passes that are trained already

  // These are set if the rest of the pass was dealt before this process came.
  bool dealt = false;  // the rank trains `strand` in place of the rest of its share
  // If it is empty, the rank trains nothing until the others have ended the pass.
  std::optional<DataStrand> strand = {};
  int64_t before_strand = 0;  // number of those pass_batches that came before the strand
};

// The end of a checkpoint for which a trainer has asked.
struct AskedCheckpoint {
  bool counts = false;
  std::string text;  // the name of its folder, or the reason why it does not count
  uint64_t run = 0;  // the run in which it was taken
};

// The checkpoints that servers write.  One owner thread; callbacks run at the end of that thread's waits.
class ServerCheckpoints {
 public:
  virtual ~ServerCheckpoints() = default;

  // `save` is called whenever this trainer pushes its state for a checkpoint, and writes the trainer's figures.
  virtual void on_checkpoint(std::function<void(std::string& out)> save) = 0;

  // Asks the servers for a checkpoint as soon as a step allows (pass -1), or for the one at the end of a
  // pass.  Returns false if they write none.
  virtual bool ask(int64_t pass, std::function<void(const AskedCheckpoint&)> done) = 0;

  // Returns the last pass at whose end this process has made the servers begin a checkpoint; -1: none.
  virtual int64_t begun_pass() const = 0;

  // Copies the files of a checkpoint of this run, and of the checkpoint on which it builds, to folders of their
  // names in `directory`, and makes them checkpoints there.  `done` gets the error, if there was one.
  virtual void copy(const AskedCheckpoint& checkpoint, const std::string& directory,
                    std::function<void(const std::optional<Error>&)> done) = 0;

  // Waits until done() returns true, or until so many seconds have passed.
  virtual void wait(const std::function<bool()>& done, double seconds) = 0;
};

// The checkpoints of trainers without servers: each trainer holds the dense parameters, and trainer 0 writes
// these, with the states of all trainers.  One owner thread.
class PeerCheckpoints {
 public:
  virtual ~PeerCheckpoints() = default;

  // `due` is called before each step of trainer 0, and returns true if a checkpoint is due after it.  If it
  // is due, or a trainer has asked for one, or the run is to end with this step, all trainers call `take`
  // after the step.
  virtual void on_checkpoint(std::function<bool()> due, std::function<void()> take) = 0;

  // Asks for a checkpoint after the next step; `take` is then called.
  virtual void ask() = 0;
};

// One owner thread.
class RunControl {
 public:
  virtual ~RunControl() = default;

  virtual uint64_t id() const = 0;  // differs from the number of every other run; 0 for a process alone
  virtual RunPosition position() const = 0;

  // Returns true if the run had ended before this process came: then this process has nothing to do.
  virtual bool finished() const = 0;

  // Returns the number of passes of a run that is finished; it may have ended early.
  virtual int64_t finished_passes() const { return 0; }

  // Returns the figures with which this rank resumes.  These are the figures that the rank has pushed, or
  // those of several ranks if the checkpoint with which the run begins is of another number of trainers.
  // Returns nothing if the rank has trained more batches since it pushed its figures, and from the second
  // call on.
  virtual std::vector<std::string> restored_states() = 0;

  // Elects one trainer to save a model of this name that was not saved yet in this run.
  virtual Saver elect_saver(SaveStage stage, const std::string& name) = 0;

  // Returns null if there are no servers.
  virtual ServerCheckpoints* checkpoints() = 0;

  // Returns null if there are servers, or if this trainer is alone.
  virtual PeerCheckpoints* peer_checkpoints() { return nullptr; }

  // To be called when this trainer has trained all of its data of the pass.  If the run goes on without lost
  // trainers, it waits until all trainers have come so far, and returns the strand of the lost trainers' data
  // that this trainer takes over.  Returns nothing if no data are left: then the pass is to end.
  virtual std::optional<DataStrand> next_strand(int64_t pass) {
    (void)pass;
    return std::nullopt;
  }

  // Returns true if this trainer is to end now.  `asked` says that this process was asked to end.  Trainers
  // without servers end together: all of them end after the same step, once one of them was asked.
  virtual bool stops(bool asked) { return asked; }

  // To be called when this trainer has trained and saved everything.  If the run may go back to a checkpoint,
  // it waits for the other trainers.
  virtual void end_run() = 0;

  // To be called when this process ends before its run does: tells the servers that the other trainers need
  // not wait for it.  Throws nothing, and returns after half a second at most.
  virtual void leave_run() = 0;
};

// The run of a process alone, which has its own checkpoints and saves its own models.
class LocalRun final : public RunControl {
 public:
  uint64_t id() const override { return 0; }
  RunPosition position() const override { return {}; }
  bool finished() const override { return false; }
  std::vector<std::string> restored_states() override { return {}; }
  Saver elect_saver(SaveStage, const std::string&) override { return {.elected = true, .rank = 0}; }
  ServerCheckpoints* checkpoints() override { return nullptr; }
  void end_run() override {}
  void leave_run() override {}
};

}  // namespace ps

#endif  // PS_STORE_RUN_CONTROL_H_
