// RunControl: the run of a job, as one of its trainers takes part in it: where the trainer begins, who saves,
// how the run ends, and the checkpoints of its servers.  Used by run_job and RunSaves.
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

// The batches of a rank that a process does not train, since others had the rank before.
struct RunPosition {
  bool resumed = false;
  int64_t pass = 0;
  int64_t pass_batches = 0;  // of this rank in this pass, trained already
  bool pass_ended = false;   // all are; what comes after the pass's last batch may not be done
  int64_t batches = 0;       // of this rank in all passes, trained already

  // Where the rest of the pass was dealt before this process came.
  bool dealt = false;                     // the rank trains its share no more, but `strand`,
  std::optional<DataStrand> strand = {};  // or nothing, until the others have come so far
  int64_t before_strand = 0;              // of pass_batches, those of the rank before the strand
};

// The end of a checkpoint that a trainer has asked for.
struct AskedCheckpoint {
  bool counts = false;
  std::string text;  // the name of its folder, or why it does not count
  uint64_t run = 0;  // whose it is
};

// The checkpoints that servers write.  One owner thread; callbacks are called in the waits of that thread, at
// their end.
class ServerCheckpoints {
 public:
  virtual ~ServerCheckpoints() = default;

  // Where trainers keep something in checkpoints: `save` is called when this trainer's part of one is being
  // pushed.
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

  // Has `take` be called after the next step.
  virtual void ask() = 0;
};

// One owner thread.
class RunControl {
 public:
  virtual ~RunControl() = default;

  virtual uint64_t id() const = 0;  // tells the run from others; 0 for a process alone
  virtual RunPosition position() const = 0;

  // Everything was done before this process came: there is nothing to take part in.
  virtual bool finished() const = 0;

  // The figures of this rank where it begins, as its servers know them, or of several ranks, when the checkpoint in
  // which the run begins had another number of trainers; nothing when the rank has trained more since it told them, or
  // when this was called before.
  virtual std::vector<std::string> restored_states() = 0;

  // Elects one trainer to save a model of this name, which nobody has saved yet in this run.
  virtual Saver elect_saver(SaveStage stage, const std::string& name) = 0;

  // Null: there are no servers.
  virtual ServerCheckpoints* checkpoints() = 0;

  // Null: there are servers, or this trainer is alone.
  virtual PeerCheckpoints* peer_checkpoints() { return nullptr; }

  // This trainer has trained all that it has of the pass.  Where the run goes on without lost trainers, waits until
  // all have, and returns a part for this one of what is left; nothing when no more is, and the pass is to end.
  virtual std::optional<DataStrand> take_rest(int64_t pass) {
    (void)pass;
    return std::nullopt;
  }

  // True when this trainer is to end now, `asked` being whether this process was told to.  Trainers without servers
  // end together, after a step before which one of them was told.
  virtual bool stops(bool asked) { return asked; }

  // This trainer has done all that it has to do.  Where runs may go back to a checkpoint it waits for the
  // others.
  virtual void end_run() = 0;

  // This process ends before its run does, so that the other trainers need not wait for it.  Throws nothing,
  // and takes half a second at most.
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
