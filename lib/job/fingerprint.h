// The parts of a job on which its servers and its trainers must agree.  Used by both.
#ifndef PS_JOB_FINGERPRINT_H_
#define PS_JOB_FINGERPRINT_H_

#include <string>
#include <vector>

#include "config/fwd.h"
#include "job/job.h"
#include "net/transport.h"
#include "ps/server/shard_server.h"
#include "strategy/strategy.h"

namespace ps {

// Returns the addresses in lists with commas between them; messages name them by `key`.  Throws kUsage.
std::vector<Address> parse_addresses(const std::vector<std::string>& lists, const char* key);

// Returns the servers that the job names; none: one process holds all parameters.  Throws kUsage
// "cluster.servers: …".
std::vector<Address> server_addresses(const Job& job);

// Returns the addresses at which the job's trainers meet without servers.  Throws kUsage "cluster.peers: …".
std::vector<Address> peer_addresses(const Job& job);

// Returns true if the job has servers, by name or by discovery.
bool has_servers(const Job& job);

// Returns the parts of the job file that must be equal on servers and trainers.
Json job_fingerprint(const Job& job);

// Returns the parts that must be equal to resume a checkpoint with the same bits, which also decide how
// examples become batches.
Json job_identity(const Job& job);

// Throws kUsage if train.pull_ahead does not go together with other keys of the job.
void check_pull_ahead(const Job& job);

// Throws kUsage if trainers are to join the running job, and it cannot admit them.
void check_max_trainers(const Job& job);

// Returns the job's plan for its servers, whose kernels are of level `cpu`.  Throws kUsage if its strategy has
// none, and as check_pull_ahead does.
ServerPlan server_plan(const Job& job, CpuLevel cpu);

// Returns the parts of the job that a server needs.  Throws the same errors.  `job` must outlive the result.
ServedJob served_job(const Job& job, CpuLevel cpu);

}  // namespace ps

#endif  // PS_JOB_FINGERPRINT_H_
