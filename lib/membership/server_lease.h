// ServerLease: a server's number among the servers of its job, and the fences that keep other servers from
// it: in the folder of checkpoints, in etcd, or in both.  Used by serve_job.
#ifndef PS_MEMBERSHIP_SERVER_LEASE_H_
#define PS_MEMBERSHIP_SERVER_LEASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "membership/etcd_fence.h"
#include "membership/fenced_files.h"
#include "membership/file_fence.h"

namespace ps {

struct ServerLeaseOptions {
  std::string discovery = {};        // etcd://HOST:PORT/PREFIX; empty: the job has no etcd
  TlsFiles tls = {};                 // files for connections to etcd
  int num_servers = 1;               // servers of the job
  std::string directory = {};        // folder of checkpoints; empty: the job has none
  std::string host = {};             // address of the server for others; empty: all addresses
  uint16_t port = 0;                 // port of its first shard
  double lease_seconds = 15;         // time without a sign of life until another server may take the number
  double etcd_timeout_seconds = 60;  // longest wait for the registration
  std::function<bool()> stop = {};   // called during the registration: returns true if this process is to end
};

// One owner thread, except for the fences, which shards call.  The log outlives it.
class ServerLease {
 public:
  // Registers the server if the job has etcd: returns when it is registered, or when `stop` returns true.
  // Throws as EtcdFence and FileFence do.
  ServerLease(const ServerLeaseOptions& options, Log& log);
  ~ServerLease();

  // The fence that shards ask; null if there is nothing to fence.
  Fence* fence() { return etcd_ || directory_ ? all_.get() : nullptr; }

  // The files of checkpoints, which change only while this server is not fenced; null if the job has no
  // checkpoints.
  FileSystem* files() { return files_.get(); }

  // To be called several times a second.
  void beat();

  // Returns the reason for which the server must end; nothing while there is none.
  std::optional<Error> fenced() const;

  // Returns the number of this server in its job if it is known before trainers connect.
  std::optional<int> number() const;

 private:
  class All;

  std::unique_ptr<EtcdFence> etcd_;       // null: the job has no etcd
  std::unique_ptr<FileFence> directory_;  // null: the job has no checkpoints
  std::unique_ptr<FencedFiles> files_;    // null if directory_ is null
  std::unique_ptr<Fence> all_;            // asks both fences
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_SERVER_LEASE_H_
