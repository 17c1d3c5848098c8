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

// The addresses of lists in which commas stand between them; messages name them by `key`.  Throws kUsage.
std::vector<Address> parse_addresses(const std::vector<std::string>& lists, const char* key);

// The servers that the job names; none: one process does all.  Throws kUsage "cluster.servers: …".
std::vector<Address> server_addresses(const Job& job);

// Where its trainers meet without servers.  Throws kUsage "cluster.peers: …".
std::vector<Address> peer_addresses(const Job& job);

// True when it has servers, which it names or which are found.
bool has_servers(const Job& job);

// The parts of the job file that must be equal.
Json job_fingerprint(const Job& job);

// The same of a checkpoint from which the job is to go on with the same bits: also how examples become
// batches.
Json job_identity(const Job& job);

// Throws kUsage when train.pull_ahead goes together with nothing else that the job says.
void check_pull_ahead(const Job& job);

// Throws kUsage when trainers are to join a running job that cannot take them in.
void check_max_trainers(const Job& job);

// The part of the job's servers, whose kernels are of level `cpu`.  Throws kUsage when its strategy has none, and as check_pull_ahead.
ServerPlan server_plan(const Job& job, CpuLevel cpu);

// All that a server needs of the job; the same errors.  `job` must outlive it.
ServedJob served_job(const Job& job, CpuLevel cpu);

}  // namespace ps

#endif  // PS_JOB_FINGERPRINT_H_
