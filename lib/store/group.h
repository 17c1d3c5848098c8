// Group: the trainers of a job, as one of them sees them.  Used by the training loop to bring figures
// together.
#ifndef PS_STORE_GROUP_H_
#define PS_STORE_GROUP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "membership/saver.h"

namespace ps {

// Where in a run a process takes its rank's part up: at the beginning, unless others had the rank before.
struct RunPosition {
  bool resumed = false;
  int64_t pass = 0;
  int64_t pass_batches = 0;  // of this rank in this pass, trained already
  bool pass_ended = false;   // all are; what comes after the pass's last batch may not be done
  int64_t batches = 0;       // of this rank in all passes, trained already
};

// What became of a checkpoint that a trainer has asked for.
struct AskedCheckpoint {
  bool counts = false;
  std::string text;  // the name of its folder, or why it does not
  uint64_t run = 0;  // whose it is
};

// One owner thread.
class Group {
 public:
  virtual ~Group() = default;

  virtual uint64_t run() const { return 0; }  // which it is
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // What every trainer gave, in rank order; returns when all have called it, each as often as the others.
  // Nothing of those whom the job goes on without.
  virtual std::vector<std::string> gather(std::string bytes) = 0;

  // The lowest rank that took part in the last gathering: it speaks for all.
  virtual int leader() const { return 0; }

  // Elects one trainer to save what has this name, which nobody has saved yet in this run.
  virtual Saver elect_saver(SaveStage stage, const std::string& name) {
    (void)stage, (void)name;
    return {true, rank()};
  }

  // Has the servers write a checkpoint as soon as a step allows (pass -1), or asks for the one of the end of
  // a pass; false when they write none.  `done` is called while this trainer waits for something else, at the
  // end of that.
  virtual bool ask_checkpoint(int64_t pass, std::function<void(const AskedCheckpoint&)> done) {
    (void)pass, (void)done;
    return false;
  }

  // The last pass at the end of which this process has had the servers begin a checkpoint; -1: none.
  virtual int64_t checkpoint_pass() const { return -1; }

  // Copies the servers' files of a checkpoint of this run, and of the one that it builds on, to folders of
  // their names in `directory`, and makes them checkpoints there.  `done` is called as above, with what went
  // wrong, if something did.
  virtual void take_checkpoint(const AskedCheckpoint& checkpoint, const std::string& directory,
                               std::function<void(const std::optional<Error>&)> done) {
    (void)checkpoint, (void)directory, (void)done;
  }

  // Waits until done(), or for some time.
  virtual void wait(const std::function<bool()>& done, double seconds) { (void)done, (void)seconds; }
  // Where servers write checkpoints in which trainers keep something: `save` is called when this trainer's
  // part of one is being pushed.
  virtual void on_checkpoint(std::function<void(std::string& out)> save) { (void)save; }

  // What was kept of this rank in the checkpoint in which it begins, or of several, when the run had another
  // number of trainers; nothing once it has gone on from there.
  virtual std::vector<std::string> restored_states() { return {}; }

  virtual RunPosition position() const { return {}; }

  // Everything was done before this process came: there is nothing to take part in.
  virtual bool finished() const { return false; }

  // This trainer has done all that it has to do.  Where runs may go back to a checkpoint it waits for the
  // others.
  virtual void end_run() {}

  void barrier() { gather(""); }
};

// A trainer alone.
class LocalGroup final : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::string> gather(std::string bytes) override { return {std::move(bytes)}; }
};

}  // namespace ps

#endif  // PS_STORE_GROUP_H_
