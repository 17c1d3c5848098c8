// CheckpointSave: makes a model of a checkpoint of the servers, while the job goes on.  Used by RunSaves.
//
// It asks the servers for the checkpoint, and has their files copied unless it can read them where they are.  A thread of its
// own then writes the model, in memory far below the model's size.
#ifndef PS_JOB_CHECKPOINT_SAVE_H_
#define PS_JOB_CHECKPOINT_SAVE_H_

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "store/run_control.h"

namespace ps {

// One owner thread.
class CheckpointSave {
 public:
  struct Target {
    std::string folder;  // of the model
    std::string copies;  // gets the servers' files while they are needed
    std::string
        checkpoints;  // the directory of the servers' checkpoints, if it might be seen here; else empty
    bool keeps_files = false;  // the model is the files of the checkpoint themselves, which must be seen
  };

  // Asks for the checkpoint at the end of a pass, or with -1 as soon as a step allows.  Returns null when the servers write
  // none.  They outlive this.
  static std::unique_ptr<CheckpointSave> ask(ServerCheckpoints* servers, int64_t pass);
  ~CheckpointSave();  // waits for the thread, and removes the copies

  // The servers' answer; null: it has not come yet.
  const AskedCheckpoint* checkpoint() const;

  // Begins to write the model, once the checkpoint counts.
  void write(Target target);

  // Returns true when the answer has come, and what was begun after it has ended.
  bool is_ready();
  void wait(double seconds);  // until then, but no longer than this

  // The reason why the servers' files could not be copied.
  const std::optional<Error>& copy_error() const { return answers_->copy_error; }

  // Throws the error of the thread, which has ended, if there is one.
  void check_written() { written_.get(); }

 private:
  // The servers may answer when this is gone.
  struct Answers {
    std::optional<AskedCheckpoint> checkpoint;
    bool copied = false;
    std::optional<Error> copy_error;
  };

  CheckpointSave(ServerCheckpoints& servers, int64_t pass) : servers_(servers), pass_(pass) {}
  void begin_thread(const std::string& source, bool as_files);

  ServerCheckpoints& servers_;
  const int64_t pass_;
  const std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
  std::optional<Target> target_;  // nothing: write() was not called
  std::future<void> written_;     // of the thread; not valid: it has not begun
};

}  // namespace ps

#endif  // PS_JOB_CHECKPOINT_SAVE_H_
