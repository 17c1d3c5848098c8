#include "job/cluster.h"

namespace ps {

const ObjectSpec<ClusterOptions>& ClusterOptions::spec() {
  static const ObjectSpec<ClusterOptions> spec = [] {
    ObjectSpec<ClusterOptions> s;
    s.field("servers", &ClusterOptions::servers,
            "HOST:PORT of each server's first port, the same list on all trainers; none: one process holds "
            "the parameters");
    s.field("trainers", &ClusterOptions::trainers, "processes that train together")
        .at_least(1)
        .at_most(1 << 16);
    s.field("server_timeout", &ClusterOptions::server_timeout,
            "seconds for which a trainer tries to reach a server that is not there")
        .above(0);
    s.field("trainer_timeout", &ClusterOptions::trainer_timeout,
            "seconds for which the others wait for a trainer that is not connected")
        .above(0);
    return s;
  }();
  return spec;
}

}  // namespace ps
