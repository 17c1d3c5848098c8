// Checkpointer: writes the checkpoints of a job that runs in one process, and resumes from the newest one.
// Used by ps-train.
#ifndef PS_TRAIN_CHECKPOINTER_H_
#define PS_TRAIN_CHECKPOINTER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "base/log.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/write_rate.h"
#include "config/json.h"
#include "store/local_store.h"
#include "train/checkpoint_options.h"

namespace ps {

// States by name: bytes that a resuming process reads back.
using CheckpointStates = std::map<std::string, std::string>;

// One owner thread.  Its arguments must outlive it.
class Checkpointer {
 public:
  // `job` has the parts of the job that must be equal to resume; `generation` tells this process from others.
  Checkpointer(const CheckpointOptions& options, Json job, uint64_t generation, Log& log,
               FileSystem& files = system_files());
  ~Checkpointer();

  // Makes the directory.  Throws kUsage if it contains checkpoints, since those of an earlier run must not be
  // mixed with this one's.
  void begin_new();

  // Restores a store in which nothing has been trained from the newest undamaged checkpoint, and returns that
  // checkpoint, all of which has been checked.  Logs a warning for each damaged one.  Throws kUsage if there is
  // no checkpoint or if it is of another job, and kCorrupt if all are damaged.
  std::unique_ptr<CheckpointReader> restore_newest(LocalStore& store);

  // Returns true if a checkpoint is wanted after this step, by the number of steps or by the clock.
  bool due(int64_t step) const;

  // Writes the checkpoint of this step, unless it was the last one written.  If the disk is full or fails, this
  // logs the error, removes the written files, and returns false; the checkpoint before stays valid.
  bool write(int64_t step, const LocalStore& store, const CheckpointStates& states) {
    return step == last_step_ || (begin(step) && finish(step, store, states, {}));
  }

  // The same in two calls, between which other processes write `files` of their own to the checkpoint's folder.
  // begin also returns false if there is nothing to write. give_up, called instead of finish, logs why there
  // will be no checkpoint.
  bool begin(int64_t step);
  bool finish(int64_t step, const LocalStore& store, const CheckpointStates& states,
              std::vector<FileEntry> files);
  void give_up(int64_t step, const Error& error);

  // Writes one of these files, with one state; throws if that fails.
  FileEntry write_file(int64_t step, const std::string& file, const std::string& state,
                       std::string_view bytes) const;

  // The reason why the last write failed; nullopt if it did not.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  void note_written(const std::string& folder, const Manifest& manifest);
  std::string folder(int64_t step) const;
  Manifest write_parts(int64_t step, const LocalStore& store, const CheckpointStates& states,
                       std::vector<FileEntry> files);
  void check_job(const CheckpointReader& reader) const;

  const CheckpointOptions options_;
  const Json job_;
  const uint64_t generation_;
  Log& log_;
  FileSystem& files_;

  std::unique_ptr<WriteRate> rate_;         // null: no limit
  std::unique_ptr<CheckpointReader> base_;  // the last full checkpoint, if increments are wanted
  int since_full_ = 0;                      // number of increments that build on it
  int64_t last_step_ = -1;                  // step of the last checkpoint written, or resumed from
  std::optional<Error> failure_;            // error of the last write
  double last_time_;                        // time of monotonic_seconds of the last checkpoint
};

}  // namespace ps

#endif  // PS_TRAIN_CHECKPOINTER_H_
