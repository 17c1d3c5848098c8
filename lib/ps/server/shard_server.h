// ShardServer: one shard on one port.  Used by ps-serve, which runs each on a thread of its own, and by tests
// on a simulated network.
#ifndef PS_PS_SERVER_SHARD_SERVER_H_
#define PS_PS_SERVER_SHARD_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/server.h"
#include "ps/server/served_job.h"
#include "ps/server/shard_host.h"
#include "ps/server/status_publisher.h"
#include "ps/wire/hello.h"

namespace ps {

// Everything runs on the thread of the transport's loop.  ShardHost owns the shard, and each connection is a
// ShardSession.
class ShardServer {
 public:
  // Listens from now on; throws as Server does.  `job` must outlive this.
  ShardServer(Transport& transport, const Address& address, const ServedJob& job,
              const ShardLimits& limits = {});
  ~ShardServer();

  const Address& address() const { return server_->address(); }

  // Sets the answer to describe.  To be called before the loop runs.
  void set_ports(const ServerPorts& ports) { description_ = ServerPorts::spec().to_json(ports).dump(); }

  // Accepts no more connections, fails all waiting requests, and closes every connection: num_connections()
  // becomes 0.
  void drain();

  // Publishes the shard's status on `board`, which must outlive this, several times a second.  To be called
  // before the loop runs.
  void publish_to(StatusBoard& board) { publisher_.publish_to(board); }

  // Asks for a checkpoint after one of the next steps, if this is the job's first shard; else logs why there
  // will be none.
  void ask_checkpoint() { host_.checkpoints().ask(); }

  // `failed` is called when this server cannot go on because its log cannot be written or read.  Every
  // request is refused from then on.  To be called before the loop runs.
  void on_failed(std::function<void(const Error&)> failed) { on_failed_ = std::move(failed); }

  // Returns true while a checkpoint is being written.
  bool writes_checkpoint() const { return host_.checkpoints().has_directory() && host_.checkpoints().busy(); }

  // Returns the error of the last checkpoint in the job's directory, if that has failed.
  std::optional<Error> checkpoint_failure() const {
    return host_.checkpoints().has_directory() ? host_.checkpoints().failure() : std::nullopt;
  }

  size_t num_connections() const { return server_->num_connections(); }
  const NetCounters& net_counters() const { return server_->counters(); }
  const Shard* shard() const { return host_.shard_or_null(); }  // null until a trainer has come

 private:
  void check();
  void end_failed();
  void describe(ShardStatus& status) const;

  const Transport& transport_;
  std::string description_;
  RequestTimes times_;
  ShardHost host_;
  StatusPublisher publisher_;
  Timer check_timer_;

  std::optional<Error> failed_;  // the error for which the server ends
  std::function<void(const Error&)> on_failed_ = [](const Error&) {};
  Timer fail_timer_;  // ends the connections in a turn of the loop of its own

  std::unique_ptr<Server> server_;  // last member: its sessions use the host
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_SERVER_H_
