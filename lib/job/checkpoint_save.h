// CheckpointSave: makes a model of a checkpoint on a thread of its own, in memory far below the model's size.
// Used by RunSaves, while the job goes on.
#ifndef PS_JOB_CHECKPOINT_SAVE_H_
#define PS_JOB_CHECKPOINT_SAVE_H_

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"

namespace ps {

// One owner thread.
class CheckpointSave {
 public:
  // Begins to write the model file `path` of the checkpoint in `folder`.  It tells the step, or is that of a
  // whole pass, as a process without servers would write it.
  enum class Of { kStep, kPass };
  CheckpointSave(std::string folder, std::string path, Of of);
  ~CheckpointSave();  // waits

  // Waits for up to so many seconds, and returns true if the save has ended.
  bool over(double seconds);

  // The error of a save that has ended, if it failed.
  const std::optional<Error>& error() const { return error_; }

 private:
  void run(const std::string& folder, const std::string& path, Of of);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_; error_ does not change after it
  std::optional<Error> error_;
  std::thread thread_;  // the last
};

}  // namespace ps

#endif  // PS_JOB_CHECKPOINT_SAVE_H_
