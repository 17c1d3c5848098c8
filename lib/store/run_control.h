// RunControl: one trainer's interface to the run of its job: it says where the trainer begins, elects the trainer that saves,
// ends the run, and gives access to the checkpoints of the servers.  Used by run_job and RunSaves.
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

// The position of a rank in its data when a process gets the rank: the batches that former processes have trained.
struct RunPosition {
  bool resumed = false;
  int64_t pass = 0;
  int64_t pass_batches = 0;  // batches of this rank in this pass that are trained already
  // All batches of the pass are trained, but the work after the last one may not be done.
  bool pass_ended = false;
  int64_t batches = 0;  // batches of this rank in all passes that are trained already

  // These are set when the rest of the pass was dealt before this process came.
  bool dealt = false;  // the rank trains `strand` in place of the rest of its share
  // If empty, the rank trains nothing until the others have ended the pass.
  std::optional<DataStrand> strand = {};
  int64_t before_strand = 0;  // the batches of pass_batches that came before the strand
};

// The end of a checkpoint that a trainer has asked for.
struct AskedCheckpoint {
  bool counts = false;
  std::string text;  // the name of its folder, or why it does not count
  uint64_t run = 0;  // the run in which it was taken
};

// The checkpoints that servers write.  One owner thread; callbacks are called in the waits of that thread, at
// their end.
class ServerCheckpoints {
 public:
  virtual ~ServerCheckpoints() = default;

  // `save` is called whenever this trainer pushes its state for a checkpoint, and writes the trainer's figures.
  virtual void on_checkpoint(std::function<void(std::string& out)> save) = 0;

  // Has the servers write a checkpoint as soon as a step allows (pass -1), or asks for the one of the end of
  // a pass; false when they write none.
  virtual bool ask(int64_t pass, std::function<void(const AskedCheckpoint&)> done) = 0;

  // The last pass at the end of which this process has had the servers begin a checkpoint; -1: none.
  virtual int64_t begun_pass() const = 0;

  // Copies the files of a checkpoint of this run, and of the one that it builds on, to folders of their names
  // in `directory`, and makes them checkpoints there.  `done` gets the error, if there was one.
  virtual void copy(const AskedCheckpoint& checkpoint, const std::string& directory,
                    std::function<void(const std::optional<Error>&)> done) = 0;

  // Waits until done(), or for some time.
  virtual void wait(const std::function<bool()>& done, double seconds) = 0;
};

// The checkpoints of trainers that share no server: each of them holds the dense parameters, and trainer 0 writes
// these, with states of all.  One owner thread.
class PeerCheckpoints {
 public:
  virtual ~PeerCheckpoints() = default;

  // Before each step trainer 0 is asked whether a checkpoint is due after it; when it is, or somebody has asked
  // for one, or the run is to end with this step, `take` is called after it, by all trainers.
  virtual void on_checkpoint(std::function<bool()> due, std::function<void()> take) = 0;

  // Asks for a checkpoint after the next step: `take` is then called.
  virtual void ask() = 0;
};

// One owner thread.
class RunControl {
 public:
  virtual ~RunControl() = default;

  virtual uint64_t id() const = 0;  // tells the run from others; 0 for a process alone
  virtual RunPosition position() const = 0;

  // Returns true when the run had ended before this process came: then this process has nothing to do.
  virtual bool finished() const = 0;

  // Returns the figures with which this rank resumes.  These are the figures that the rank has pushed, or those of several
  // ranks where the checkpoint in which the run begins is of another number of trainers.  Returns nothing when the rank has
  // trained more batches since it pushed its figures, and from the second call on.
  virtual std::vector<std::string> restored_states() = 0;

  // Elects one trainer to save a model of this name, which nobody has saved yet in this run.
  virtual Saver elect_saver(SaveStage stage, const std::string& name) = 0;

  // Returns null when there are no servers.
  virtual ServerCheckpoints* checkpoints() = 0;

  // Returns null when there are servers, or when this trainer is alone.
  virtual PeerCheckpoints* peer_checkpoints() { return nullptr; }

  // To be called when this trainer has trained all of its data of the pass.  Where the run goes on without lost trainers, it
  // waits until all trainers have come so far, and returns the strand of the lost trainers' data that this trainer takes
  // over.  Returns nothing when no data are left: then the pass is to end.
  virtual std::optional<DataStrand> take_rest(int64_t pass) {
    (void)pass;
    return std::nullopt;
  }

  // Returns true when this trainer is to end now.  `asked` says that somebody has asked this process to end.  Trainers
  // without servers end together: all of them end after the same step, once one of them was asked.
  virtual bool stops(bool asked) { return asked; }

  // To be called when this trainer has trained and saved everything.  Where a run may go back to a checkpoint, it waits for
  // the other trainers.
  virtual void end_run() = 0;

  // To be called when this process ends before its run does: tells the servers that the other trainers need not wait for it.
  // Throws nothing, and returns after half a second at most.
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
