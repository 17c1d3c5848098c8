// ServedShards: the shards of a job in this process, each a thread with a port of the loopback device, as in
// ps-serve.  Used by the suites `pull-push` and `checkpoint`.
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

// The shards of a job, which begin to serve at once.  One owner thread.  Trainers must disconnect before this
// is destroyed.
class ServedShards {
 public:
  // `link` is the shape of the way to each shard, in either direction; a thread of its own forwards the
  // bytes, as devices between two machines do.  With `local` there are Unix sockets beside the ports.  `tls`
  // is that of the shards; null: they do not encrypt.  `job` must outlive this.
  ServedShards(const ServedJob& job, int ports, const LinkShape& link, bool local = false,
               const TlsContexts& tls = {});
  ~ServedShards();

  // Returns the options of a trainer, the only one of the job.
  RemoteOptions remote_options(const DataSchema& schema) const;

  // Return the processor time that all shards together have used, and the bytes that their connections have
  // carried in both directions.  The shards must be idle.
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
