#include "job/cluster.h"

#include "config/spec.h"
#include "membership/etcd_client.h"
#include "ps/wire/hello.h"

namespace ps {

// Describes the keys of the section, with the help texts that the manual shows, their limits, and a check of
// the whole.
const ObjectSpec<ClusterOptions>& ClusterOptions::spec() {
  static const ObjectSpec<ClusterOptions> spec = [] {
    ObjectSpec<ClusterOptions> s;
    s.field("servers", &ClusterOptions::servers,
            "HOST:PORT of each server's first port, the same list on all trainers; none: trainers "
            "hold the parameters");
    s.field("discovery", &ClusterOptions::discovery,
            "where servers register and trainers find them instead: etcd://HOST:PORT/PREFIX, or several "
            "HOST:PORT of one etcd with commas between; a prefix for each job");
    s.field("num_servers", &ClusterOptions::num_servers,
            "servers of the job, with discovery: trainers wait for so many")
        .at_least(1)
        .at_most(1 << 16);
    s.field("trainers", &ClusterOptions::trainers, "processes that train together")
        .at_least(1)
        .at_most(kMostTrainers);
    s.field("max_trainers", &ClusterOptions::max_trainers,
            "ranks of the job: those from cluster.trainers on may join it while it runs, and leave it; 0: as "
            "many as trainers, nobody joins")
        .at_least(0)
        .at_most(kMostTrainers);
    s.field(
        "peers", &ClusterOptions::peers,
        "where trainers without servers meet: HOST:PORT at which trainer 0 listens, or that of each trainer "
        "in their order; the same list on all");
    s.field("compute", &ClusterOptions::compute,
            "HOST:PORT of each compute trainer, the same list on all readers: reader R begins with number R "
            "modulo their count");
    s.field("collective", &ClusterOptions::collective,
            "how trainers without servers speak with each other: net, over TCP; mpi, as processes of one "
            "mpirun; "
            "nccl, over TCP, and what they add up over NCCL, in the memory of the device that computes the "
            "model")
        .one_of({"net", "mpi", "nccl"});
    s.field("connections", &ClusterOptions::connections,
            "TCP connections between each two trainers without servers, over which large messages are "
            "spread, with "
            "the same bits, the same number on all trainers; 0: 1, 2 or 4, the fewest that carry as much as "
            "more of them, which trainers measure when they meet")
        .at_least(0)
        .at_most(kMostConnections);
    s.field("nccl_library", &ClusterOptions::nccl_library,
            "with collective nccl: the file that is NVIDIA's NCCL 2.14 or later, or its name as the dynamic "
            "linker finds it");
    s.field("server_timeout", &ClusterOptions::server_timeout,
            "seconds for which a trainer tries to reach a server that is not there")
        .above(0);
    s.field("trainer_timeout", &ClusterOptions::trainer_timeout,
            "seconds for which the others wait for a trainer that is not connected; without servers, that "
            "has not come or gives no sign of life")
        .above(0);
    s.field("on_trainer_loss", &ClusterOptions::on_trainer_loss,
            "what happens then: \"stop\", the job ends with status 4; \"continue\", the others go on without "
            "it, and train what it has left of its data")
        .one_of({"stop", "continue"});
    s.field("request_timeout", &ClusterOptions::request_timeout,
            "seconds without a sign of life after which a connection is made anew, the same on servers and "
            "trainers")
        .at_least(0.1);
    s.check([](const ClusterOptions& options, std::string_view path) {
      if (options.max_trainers != 0 && options.max_trainers < options.trainers) {
        fail(Code::kUsage, json_path(path, "max_trainers"), ": ", options.max_trainers,
             " is less than cluster.trainers, ", options.trainers);
      }
      if (options.discovery.empty()) return;
      try {
        parse_etcd_url(options.discovery);
      } catch (const Error& error) {
        throw error.within(json_path(path, "discovery"));
      }
    });
    return s;
  }();
  return spec;
}

}  // namespace ps
