// The "cluster" section of the job file.
#ifndef PS_JOB_CLUSTER_H_
#define PS_JOB_CLUSTER_H_

#include <string>
#include <vector>

#include "config/spec.h"

namespace ps {

struct ClusterOptions {
  std::vector<std::string> servers;  // HOST:PORT, or several with commas between; empty: one process
  int trainers = 1;
  double server_timeout = 60, trainer_timeout = 60;  // seconds

  static const ObjectSpec<ClusterOptions>& spec();
};

}  // namespace ps

#endif  // PS_JOB_CLUSTER_H_
