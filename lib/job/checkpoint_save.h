// CheckpointSave: makes a model from a checkpoint of the servers, while the job goes on.  Used by RunSaves.
//
// It asks the servers for the checkpoint, and for copies of their files unless it can read them in place.  A
// thread of its own then writes the model, with much less memory than the model's size.
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
    std::string folder;  // folder of the model
    std::string copies;  // folder for the servers' files while they are needed
    std::string
        checkpoints;  // the directory of the servers' checkpoints, if this process may see it; else empty
    // the model consists of the files of the checkpoint, which must be visible here
    bool keeps_files = false;
  };

  // Asks for the checkpoint at the end of a pass, or, with -1, as soon as a step allows.  Returns null if the
  // servers write none.  The servers outlive this.
  static std::unique_ptr<CheckpointSave> ask(ServerCheckpoints* servers, int64_t pass);
  ~CheckpointSave();  // waits for the thread, and removes the copies

  // The servers' answer; null until it has come.
  const AskedCheckpoint* checkpoint() const;

  // Begins to write the model, after the checkpoint counts.
  void write(Target target);

  // Returns true if the answer has come, and the work that was begun after it has ended.
  bool is_ready();
  void wait(double seconds);  // waits until is_ready(), but no longer than this

  // The reason why the servers' files could not be copied.
  const std::optional<Error>& copy_error() const { return answers_->copy_error; }

  // Throws the error of the thread, if there is one.  The thread must have ended.
  void check_written() { written_.get(); }

 private:
  // The answers of the servers, which may come after this object is gone.
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
  std::optional<Target> target_;  // nullopt: write() was not called
  std::future<void> written_;     // result of the thread; not valid: the thread has not begun
};

}  // namespace ps

#endif  // PS_JOB_CHECKPOINT_SAVE_H_
