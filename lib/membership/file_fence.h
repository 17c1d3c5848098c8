// FileFence: the fence of servers that share a folder for checkpoints.  Used by serve_job.
//
// The server with number 0 of the job has DIR/servers/server-0.generation-7, a file that it keeps locked and
// touches every few seconds.  Its successor makes that of generation 8: at once, when the lock is gone with
// its process; or when a locked file was not touched for the length of the lease, as of a process that was
// stopped, or of a machine that cannot be reached.  A server that finds a higher generation than its own is
// fenced.  A second server, finding a file that is touched, is fenced too: the first one lives.
//
// Time is told by each process's own clock alone: a server answers for half a lease after it has last looked
// at the folder, a newcomer waits for a whole one after it has first seen the last sign of life.
#ifndef PS_MEMBERSHIP_FILE_FENCE_H_
#define PS_MEMBERSHIP_FILE_FENCE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/lock_file.h"
#include "base/log.h"
#include "membership/fence.h"
#include "net/loop.h"

namespace ps {

struct FileFenceOptions {
  std::string directory;  // of checkpoints
  std::string name;       // of this server, for people: where it listens, which process it is
  Duration lease = std::chrono::seconds(15);
  std::function<Time()> now;
  Log* log = nullptr;  // null: nothing is said
};

// Any thread.  The log of the options outlives it.
class FileFence final : public Fence {
 public:
  explicit FileFence(FileFenceOptions options);
  ~FileFence() override;

  void claim(int server) override;
  void check() override;

  // As claim, for one who knows that its predecessor does not live.
  void seize(int server);

  // As check, but looks in any case.
  void check_now();

  // To be called several times in a lease: shows a sign of life, and looks at others'.
  void beat();

  // Why this server must end; nothing while it need not.
  std::optional<Error> fenced() const;

 private:
  struct Newest {
    int64_t generation = 0;  // 0: there is none
    std::string path;
  };
  struct Watched {
    int64_t generation, touched;
    Time since;
  };

  template <class Step>
  void try_disk(Step&& step);
  void try_claim();
  void await_end_of(const Newest& holder);
  void take(int64_t generation);
  void hold(int64_t generation, Time since);
  void confirm();
  Newest newest() const;
  std::string holder(const Newest& newest) const;
  [[noreturn]] void end(std::string why);

  const FileFenceOptions options_;
  const std::string folder_;

  std::atomic<int64_t> valid_until_ = INT64_MAX;  // nanoseconds of the clock; before it nothing need be asked
  mutable std::mutex mutex_;

  // Guarded by mutex_.
  std::optional<int> server_;  // asked for,
  Time asked_{};               // at last then
  std::unique_ptr<LockFile> own_;
  int64_t generation_ = 0;  // of own_
  Time confirmed_{};
  std::optional<Watched> watched_;  // who may not live
  std::optional<Error> fenced_;
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_FILE_FENCE_H_
