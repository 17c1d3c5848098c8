// ShardLinks: a trainer's connections to all shards of a job.  Used by RemoteStore.
#ifndef PS_PS_CLIENT_SHARD_LINKS_H_
#define PS_PS_CLIENT_SHARD_LINKS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/wait_stopped.h"
#include "net/buffer_pool.h"
#include "net/channel.h"
#include "ps/wire/hello.h"

namespace ps {

struct RemoteOptions {
  std::vector<Address> servers;  // the first port of each; the same list, in the same order, on all trainers
  Hello hello;                   // less the place
  CpuLevel cpu = best_cpu_level();  // of the loops that encode and decode rows
  // Not 0: the rank takes part in this run already, and these are further connections of it, of a process that
  // computes for it.
  uint64_t in_run = 0;
  uint64_t link = 0;  // tells such connections from all others of the rank
  // Another process of this rank pulls and pushes all parameters that are not used by keys.
  bool dense_elsewhere = false;
  // This process has all parameters that are not sparse, and moves them (HybridStore): of batches it exchanges the sparse
  // ones alone.
  bool dense_here = false;
  // This process trains the sparse parameters itself (RemoteLender): of batches it exchanges all others.
  bool sparse_here = false;
  Duration server_timeout = std::chrono::seconds(60);  // how long to try to reach one that is not there
  // A server that shows no sign of life for this long is connected to anew.
  Duration request_timeout = std::chrono::seconds(15);
  std::function<void(const std::string&)> on_waiting;  // for people
  // Asked while one cannot be reached: whether some server is somewhere else now.
  std::function<bool()> moved = [] { return false; };
  // Asked several times a second by whoever waits: whether this process is to end.  It is not to wait long
  // for a server then.  Null: never.
  std::function<bool()> stop;
  // Passes at the end of which the servers are to begin a checkpoint, also where they write none by
  // themselves.
  std::function<bool(int64_t pass)> checkpoint_at_end = [](int64_t) { return false; };
};

// A server has lost what this trainer had there: the run it took part in is over, and another one may begin.
// To who knows of none it is a server that is gone.
class StateLost final : public Error {
 public:
  StateLost(uint64_t run, bool checkpointed, const std::string& message)
      : Error(Code::kUnavailable, message), run_(run), checkpointed_(checkpointed) {}
  uint64_t run() const { return run_; }
  bool checkpointed() const { return checkpointed_; }

 private:
  uint64_t run_;
  bool checkpointed_;  // the servers' run can go back
};

// This trainer takes no part in a run yet, and a server is somewhere else, or the run that it came to is over: servers have
// to be looked for, and greeted, again.
class ServersMoved final : public Error {
 public:
  explicit ServersMoved(const std::string& message, bool left = false)
      : Error(Code::kUnavailable, message), left_(left) {}

  // The process has taken part for a moment, and left: only another generation of it may come again.
  bool left() const { return left_; }

 private:
  bool left_;
};

// Driven by the owner thread, in wait() alone.  A request is sent again, for as long as it takes, while its
// server can be reached; the first that fails ends all: wait() throws its error, kUnavailable when a server
// or another trainer is gone, StateLost when a server is another one, or at another place.
class ShardLinks {
 public:
  // Asks the servers for their ports, and greets all shards: the first one first, which says what run it is.
  // Throws kUnavailable, ServersMoved, and kUsage when they have another job.
  ShardLinks(Transport& transport, RemoteOptions options);
  ~ShardLinks();

  size_t size() const { return links_.size(); }

  // All bytes that were handed to the connections with the shards, keys and frames included.
  uint64_t bytes_sent() const;

  const std::vector<ShardPlace>& places() const { return places_; }
  const Welcome& welcome(size_t shard) const;  // the first one
  BufferPool& pool() { return pool_; }
  CpuLevel cpu() const { return options_.cpu; }

  // The first shard has said that all of this run was done before: then there are no links to the others.
  bool finished() const;

  // `on_answer` is called in wait(); what it throws ends all too.
  void request(size_t shard, Message type, Payload payload, std::function<void(Frame)> on_answer);

  // Until done(), which is asked when something came; the second, for some time at most.
  void wait(const std::function<bool()>& done) { wait_until(done, kNever); }
  void wait(const std::function<bool()>& done, double seconds);

  // As the first, for answers that depend on other processes: says after some seconds which trainers are not
  // there, and throws WaitStopped a short while after this one was told to end.
  void wait_for_others(const std::function<bool()>& done);

  // Handles what has come already.  Errors are thrown by the next wait.
  void poll() { transport_.loop().poll(); }

  // Handles what comes until done(), which is asked when something came, and when another thread has called wake().  Ends
  // before if a wait would throw.
  void work_until(const std::function<bool()>& done) {
    transport_.loop().run_until([&] { return failed() || done(); }, kNever);
  }
  void wake() {
    transport_.loop().post([] {});
  }

  // `check` is called several times a second in such a wait, and may throw; null: nothing is.
  void watch_others(std::function<void()> check) { check_others_ = std::move(check); }

  // Seconds that wait() did nothing but wait.
  double waited_seconds() const { return waited_seconds_; }

  // True when wait() would throw.
  bool failed() const { return error_.has_value(); }

  // Throws as wait() does when a server has lost the run.
  [[noreturn]] void lose_run(const std::string& why);

  // One request and its answer.
  Frame call(size_t shard, Message type, Payload payload);

 private:
  struct Link;

  void find_shards();
  Frame describe(Channel& channel);
  ChannelOptions channel_options();
  void waits(const std::string& why);
  double stopping_seconds();
  void ask_absent();
  void wait_until(const std::function<bool()>& done, Time deadline);
  void connect(size_t shard);
  void greet(size_t first, size_t last);

  Transport& transport_;
  const RemoteOptions options_;
  BufferPool pool_;
  std::vector<Address> addresses_;
  std::vector<ShardPlace> places_;
  std::vector<int> servers_;  // of the shards, by their numbers
  std::vector<std::unique_ptr<Link>> links_;
  std::function<void()> check_others_;
  std::optional<Error> error_;
  bool moved_ = false;
  std::optional<double> stopping_since_;  // of the clock
  double waited_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_SHARD_LINKS_H_
