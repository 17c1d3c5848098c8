// ServedShards: the shards of a job in this process, each a thread with a port of the loopback device, as
// ps-serve has them.  Used by the suite `pull-push`.
#ifndef PS_BENCH_PULL_PUSH_SERVED_SHARDS_H_
#define PS_BENCH_PULL_PUSH_SERVED_SHARDS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "net/network.h"
#include "net/shaped_transport.h"
#include "net/tls/tls_transport.h"
#include "ps/client/shard_links.h"
#include "ps/server/shard_server.h"

namespace ps {

// One owner thread.  Trainers must have gone before it does.
class ServedShards {
 public:
  // `link`: of the way to each shard, in either direction; it has a thread of its own, as what stands
  // between two machines.  `local`: there are Unix sockets beside the ports.  `tls`: of the shards; null: they do not encrypt.
  // `job` must outlive this.
  ServedShards(const ServedJob& job, int ports, const LinkShape& link, bool local = false,
               const TlsContexts& tls = {});
  ~ServedShards();

  // For a trainer, the only one.
  RemoteOptions remote_options(const DataSchema& schema) const;

  // Return the processor time that all shards together have used, and the bytes that went over their connections
  // in both directions.  The shards must be idle.
  double cpu_seconds() const;
  uint64_t wire_bytes() const;

 private:
  class Link;
  class Shard;

  const ServedJob& job_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace ps

#endif  // PS_BENCH_PULL_PUSH_SERVED_SHARDS_H_
