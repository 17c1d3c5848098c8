// ServerLease: a server's place among those of its job, and the fences that keep others out of it: in the
// folder of checkpoints, in etcd, or in both.  Used by serve_job.
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
  int num_servers = 1;               // that register there
  std::string directory = {};        // of checkpoints; empty: the job has none
  std::string host = {};             // where the server listens, or where others reach it; empty: everywhere
  uint16_t port = 0;                 // its first one
  double lease_seconds = 15;         // without a sign of life, until another may have the place
  double etcd_timeout_seconds = 60;  // for registering
  std::function<bool()> stop = {};   // asked while it registers: true when this process is to end
};

// One owner thread, but for what shards ask of the fences.  The log outlives it.
class ServerLease {
 public:
  // Registers the server, where the job has etcd: returns when that is done, or it is to stop.  Throws as
  // EtcdFence and FileFence do.
  ServerLease(const ServerLeaseOptions& options, Log& log);
  ~ServerLease();

  // For the shards, which ask whether the place is still the server's.  Null: there is nothing to fence.
  Fence* fence() { return etcd_ || directory_ ? all_.get() : nullptr; }

  // The files of checkpoints, which are changed as long as the place is the server's.  Null: the job has none.
  FileSystem* files() { return files_.get(); }

  // To be called several times a second.
  void beat();

  // The reason for which the server must end; nothing while it need not.
  std::optional<Error> fenced() const;

  // The number of this server in its job, where that is known before trainers come.
  std::optional<int> number() const;

 private:
  class All;

  std::unique_ptr<EtcdFence> etcd_;       // null: the job has no etcd
  std::unique_ptr<FileFence> directory_;  // null: it has no checkpoints
  std::unique_ptr<FencedFiles> files_;    // beside directory_
  std::unique_ptr<Fence> all_;            // asks both fences
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_SERVER_LEASE_H_
