// The "cluster" section of the job file.
#ifndef PS_JOB_CLUSTER_H_
#define PS_JOB_CLUSTER_H_

#include <algorithm>
#include <string>
#include <vector>

#include "collective/net/options.h"
#include "config/fwd.h"

namespace ps {

struct ClusterOptions {
  std::vector<std::string> servers;  // HOST:PORT, or several with commas between; empty: one process
  std::string discovery;  // etcd://HOST:PORT/PREFIX, at which servers register instead; empty: they do not
  int num_servers = 1;    // number of servers that trainers wait for, with discovery
  int trainers = 1;
  // The number of ranks in all.  The ranks from `trainers` on may join the running job; 0: no rank may.
  int max_trainers = 0;
  std::vector<std::string> peers;    // HOST:PORT of trainer 0, or of each trainer, without servers
  std::vector<std::string> compute;  // HOST:PORT of compute trainers, to which readers send batches
  std::string collective = "net";    // net | mpi | nccl
  // between two trainers that meet over the network; kMeasuredConnections: as many as pay
  int connections = kMeasuredConnections;
  std::string nccl_library = "libnccl.so.2";
  double server_timeout = 60, trainer_timeout = 60, request_timeout = 15;  // seconds
  std::string on_trainer_loss = "stop";                                    // stop | continue

  int ranks() const { return std::max(trainers, max_trainers); }

  static const ObjectSpec<ClusterOptions>& spec();
};

}  // namespace ps

#endif  // PS_JOB_CLUSTER_H_
