// FileFence: the fence of servers that share a folder for checkpoints.  Used by serve_job.
//
// Server 0 of the job has the file DIR/servers/server-0.generation-7, which it keeps locked and touches every
// few seconds.  Its successor makes the file of generation 8: at once, if the lock has ended with its
// process; else when the locked file has not been touched for the length of a lease, as that of a stopped
// process or an unreachable machine.  A server that finds a higher generation than its own is fenced.  A
// second server that finds a touched file is fenced too: the first one is alive.
//
// Each process measures time by its own clock alone: a server answers for half a lease after its last look at
// the folder; a successor waits for a whole lease after it has seen the last sign of life.
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
  Log* log = nullptr;  // null: nothing is logged
};

// Any thread.  The log of the options outlives it.
class FileFence final : public Fence {
 public:
  explicit FileFence(FileFenceOptions options);
  ~FileFence() override;

  void claim(int server) override;
  void check() override;

  // The same as claim, for a caller that knows that its predecessor has ended.
  void seize(int server);

  // The same as check, but always looks at the folder.
  void check_now();

  // To be called several times during a lease: touches the own file, and looks at those of other servers.
  void beat();

  // Returns the reason for which this server must end; nothing while there is none.
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
  void take_over(int64_t generation);
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
  std::optional<int> server_;  // the number that was claimed; none before
  Time asked_{};               // time of the last call of claim
  std::unique_ptr<LockFile> own_;
  int64_t generation_ = 0;  // generation of own_
  Time confirmed_{};
  std::optional<Watched> watched_;  // the server whose end is awaited
  std::optional<Error> fenced_;
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_FILE_FENCE_H_
