// LinkServers: servers behind links, each a thread of this process with one port, as in ps-serve.  They hold
// the dense parameters of a model, from which they subtract the gradients that trainers push.  Used by
// ServerStep.
#ifndef PS_BENCH_LINK_LINK_SERVERS_H_
#define PS_BENCH_LINK_LINK_SERVERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/link/model_shape.h"
#include "bench/link/rank_links.h"
#include "optim/parameter.h"
#include "ps/client/shard_links.h"
#include "ps/server/served_job.h"

namespace ps {

// The servers of one job.  One owner thread; any thread may call the getters.  Trainers must disconnect
// before this is destroyed.
class LinkServers {
 public:
  // The servers are behind the links from `first_link` on, one behind each.  Throws the error of a server
  // that cannot begin.
  LinkServers(const RankLinks& links, int first_link, int count, const ModelShape& model, Duration timeout);
  ~LinkServers();

  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  const ServedJob& job() const { return job_; }
  RemoteOptions remote_options(int rank, int trainers) const;

 private:
  class Server;

  std::vector<ParameterSpec> parameters_;
  ServedJob job_;
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace ps

#endif  // PS_BENCH_LINK_LINK_SERVERS_H_
