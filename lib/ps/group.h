// Group: the trainers of a job, as one of them sees them.  Used by the training loop to bring figures
// together.
#ifndef PS_PS_GROUP_H_
#define PS_PS_GROUP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ps {

// Where in a run a process takes its rank's part up: at the beginning, unless others had the rank before.
struct RunPosition {
  bool resumed = false;
  int64_t pass = 0;
  int64_t pass_batches = 0;  // of this rank in this pass, trained already
  bool pass_ended = false;   // all are; what comes after the pass's last batch may not be done
  int64_t batches = 0;       // of this rank in all passes, trained already
};

// What a trainer that would save a model, or saves one, asks.  On the wire: never renumber.
enum class SaveStage : uint8_t {
  kBegin,   // may it?
  kAsked,   // may it, as a signal asks, which others may have got too?
  kGoesOn,  // it still saves: to be asked every few seconds
  kDone,    // the model is whole
  kFailed,  // it will not be
};

// Who saves.
struct Saver {
  bool elected = false;  // whoever asked; it still is
  int rank = 0;          // of whoever saves, or did last
};

// What became of a checkpoint that a trainer has asked for.
struct AskedCheckpoint {
  bool counts = false;
  std::string text;  // the name of its folder, or why it does not
};

// One owner thread.
class Group {
 public:
  virtual ~Group() = default;

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

  // Has the servers write a checkpoint as soon as a step allows; false when they write none.  `done` is
  // called while this trainer waits for something else, at the end of that.
  virtual bool ask_checkpoint(std::function<void(const AskedCheckpoint&)> done) {
    (void)done;
    return false;
  }

  virtual RunPosition position() const { return {}; }

  // Passes of a run of which everything was done before this process came; 0: there is none.
  virtual uint64_t finished_passes() const { return 0; }

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

#endif  // PS_PS_GROUP_H_
