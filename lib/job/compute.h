// Heterogeneous training, ps(7): the roles of readers and of compute trainers.  Used by run_job and ps-train.
#ifndef PS_JOB_COMPUTE_H_
#define PS_JOB_COMPUTE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/batch.h"
#include "heter/compute_link.h"
#include "job/job.h"
#include "job/run.h"
#include "job/start_strategy.h"
#include "model/network.h"
#include "net/transport.h"

namespace ps {

// cluster.compute.  Throws kUsage.
std::vector<Address> compute_addresses(const Job& job);

// Throws kUsage when the job has no place for options.role.
void check_role(const Job& job, const RunOptions& options);

// In two lines, the parameters that readers and compute trainers have, for --dry-run.
std::string describe_cut(const std::vector<ParameterSpec>& parameters);

// Connects a reader to its compute trainer.  All but the schema outlive the link.
std::unique_ptr<ComputeLink> make_compute_link(const Job& job, const RunOptions& options,
                                               const DataSchema& schema, RunningStrategy& running,
                                               const Network<float>& network, Log& log);

// The place at which a compute trainer listens.
struct ComputePlace {
  std::string host = "127.0.0.1";
  uint16_t port = 0;      // 0: any that is free
  std::string port_file;  // where the port is written; empty: nowhere
};

// Computes for readers until they have ended the run; false when options.stop ended it early.
bool run_compute(const Job& job, const RunOptions& options, const ComputePlace& place, Log& log);

}  // namespace ps

#endif  // PS_JOB_COMPUTE_H_
