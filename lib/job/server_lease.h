// ServerLease: a server's place among those of its job, and what keeps others out of it: in the folder of
// checkpoints, in etcd, or both.  Used by serve_job.
#ifndef PS_JOB_SERVER_LEASE_H_
#define PS_JOB_SERVER_LEASE_H_

#include <memory>
#include <optional>

#include "base/log.h"
#include "job/job.h"
#include "job/serve.h"
#include "membership/etcd_fence.h"
#include "membership/fenced_files.h"
#include "membership/file_fence.h"
#include "ps/server/shard_server.h"

namespace ps {

// One owner thread, but for what shards ask of the fences.  What it is given outlives it.
class ServerLease {
 public:
  // Registers the server, which listens from `port` on, where the job has etcd: returns when that is done, or
  // it is to stop.  Throws as EtcdFence and FileFence do.
  ServerLease(const Job& job, const ServeOptions& options, uint16_t port, Log& log);
  ~ServerLease();

  // Has the shards of `served`, which must not outlive this, ask whether the place is still the server's.
  void protect(ServedJob& served);

  // To be called several times a second.
  void beat();

  // Why the server must end; nothing while it need not.
  std::optional<Error> fenced() const;

  // Which server of the job this is, where that is known before trainers come.
  std::optional<int> number() const;

 private:
  class All;

  std::unique_ptr<EtcdFence> etcd_;  // null: the job has none
  std::unique_ptr<FileFence> directory_;
  std::unique_ptr<FencedFiles> files_;
  std::unique_ptr<All> all_;
};

}  // namespace ps

#endif  // PS_JOB_SERVER_LEASE_H_
