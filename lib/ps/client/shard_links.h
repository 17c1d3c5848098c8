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
  Hello hello;                   // without the place, which is set for each shard
  CpuLevel cpu = best_cpu_level();  // of the loops that encode and decode rows
  // If not 0, the rank takes part in this run already, and these are connections of another process, which
  // computes for it.
  uint64_t in_run = 0;
  uint64_t link = 0;  // distinguishes such connections from all others of the rank
  // Another process of this rank pulls and pushes all parameters that are not used by keys.
  bool dense_elsewhere = false;
  // This process has all parameters that are not sparse, and trains them (HybridStore).  It exchanges only the
  // sparse ones with the servers, or none if sparse_here is set too.
  bool dense_here = false;
  // This process trains the sparse parameters itself (RemoteLender).  It exchanges all others with the servers.
  bool sparse_here = false;
  Duration server_timeout = std::chrono::seconds(60);  // how long to try to reach an absent server
  // After this time without a sign of life from a server, the connection to it is made anew.
  Duration request_timeout = std::chrono::seconds(15);
  std::function<void(const std::string&)> on_waiting;  // writes a message for people
  // Called with the address of a server that cannot be reached, and with a message that names it, before each
  // new attempt; and with an empty message when that server answers.
  std::function<void(const std::string& server, const std::string& message)> on_missing = [](const auto&,
                                                                                             const auto&) {};
  // Called while a server cannot be reached: returns true if some server has another address now.
  std::function<bool()> moved = [] { return false; };
  // Called several times a second during waits: returns true if this process was told to end, which then does not
  // wait long for a server.  Null means never.
  std::function<bool()> stop;
  // So much longer it still waits then, for trainers that end together after a common step.
  Duration stop_patience{};
  // Returns true for passes at the end of which the servers are to begin a checkpoint, even if they write none
  // by themselves.
  std::function<bool(int64_t pass)> checkpoint_at_end = [](int64_t) { return false; };
};

// A server has lost the state that this trainer had there: its run is over, and another one may begin.  Code
// that does not know this class handles it as a server that is gone.
class StateLost final : public Error {
 public:
  StateLost(uint64_t run, bool checkpointed, const std::string& message)
      : Error(Code::kUnavailable, message), run_(run), checkpointed_(checkpointed) {}
  uint64_t run() const { return run_; }
  bool checkpointed() const { return checkpointed_; }

 private:
  uint64_t run_;
  bool checkpointed_;  // the run can go back to a checkpoint
};

// This trainer takes no part in a run yet, and a server has another address, or the run that it came to is
// over.  The caller must look for the servers and greet them again.
class ServersMoved final : public Error {
 public:
  explicit ServersMoved(const std::string& message, bool left = false)
      : Error(Code::kUnavailable, message), left_(left) {}

  // Returns true if the process has taken part in the run and left it; then it may come again only with another
  // generation.
  bool left() const { return left_; }

 private:
  bool left_;
};

// One owner thread, which receives messages only in wait().  A request is repeated until it is answered, as long
// as its server can be reached.  The first request that fails ends all others: wait() throws its error.  This is
// kUnavailable if a server or another trainer is gone, and StateLost if a server has lost the run or has
// another address.
class ShardLinks {
 public:
  // Asks the servers for their ports, and greets all shards, beginning with the first one, which tells the run.
  // Throws kUnavailable, ServersMoved, and kUsage when they have another job.
  ShardLinks(Transport& transport, RemoteOptions options);
  ~ShardLinks();

  size_t size() const { return links_.size(); }

  // Returns the number of bytes sent to the shards, keys and frames included.
  uint64_t bytes_sent() const;

  const std::vector<ShardPlace>& places() const { return places_; }
  const Welcome& welcome(size_t shard) const;  // the first welcome of that shard
  BufferPool& pool() { return pool_; }
  CpuLevel cpu() const { return options_.cpu; }

  // Returns true if the first shard has said that this run was completed before.  Then there are no links to the
  // others.
  bool finished() const;

  // `on_answer` is called in wait(); an error that it throws ends all requests too.
  void request(size_t shard, Message type, Payload payload, std::function<void(Frame)> on_answer);

  // Wait until done() returns true; it is called when a message has come.  The second function waits for at most
  // this time.  The first one throws WaitStopped if this process was told to end, the others have ended or gone on
  // without it, so that its requests are refused, and nothing is left that could be answered.
  void wait(const std::function<bool()>& done);
  void wait(const std::function<bool()>& done, double seconds);

  // Waits like the first one, for answers that depend on other processes.  Reports after some seconds which
  // trainers are absent, and throws WaitStopped shortly after this process was told to end and its patience is over.
  void wait_for_others(const std::function<bool()>& done);

  // Handles messages that have come already.  The next wait throws their errors.
  void poll() { transport_.loop().poll(); }

  // Handles messages until done() returns true; it is called when a message has come, and when another thread
  // has called wake().  Ends earlier if a wait would throw.
  void work_until(const std::function<bool()>& done) {
    transport_.loop().run_until([&] { return failed() || done(); }, kNever);
  }
  void wake() {
    transport_.loop().post([] {});
  }

  // `check` is called several times a second in such a wait, and may throw; it may be null.
  void watch_others(std::function<void()> check) { check_others_ = std::move(check); }

  // Returns the seconds for which wait() did nothing but wait.
  double waited_seconds() const { return waited_seconds_; }

  // Returns true if wait() would throw.
  bool failed() const { return error_.has_value(); }

  // Throws as wait() does when a server has lost the run.
  [[noreturn]] void lose_run(const std::string& why);

  // Sends one request, and returns its answer.
  Frame call(size_t shard, Message type, Payload payload);

  // Returns true if this process was told to end, whether or not its waits end yet.
  bool is_stopping() const { return options_.stop && options_.stop(); }

 private:
  struct Link;

  void find_shards();
  Frame describe(Channel& channel);
  ChannelOptions channel_options(const Address& server);
  void waits(const Address& server, const std::string& why);
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
  std::vector<int> servers_;  // by shard: the number of its server
  std::vector<std::unique_ptr<Link>> links_;
  std::function<void()> check_others_;
  std::optional<Error> error_;
  size_t num_unanswered_ = 0;  // requests
  bool refused_ = false;       // some were refused when this process was to end, which is no error then
  bool moved_ = false;
  std::optional<Time> stopping_since_;
  double waited_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_SHARD_LINKS_H_
