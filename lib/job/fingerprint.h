// What the servers and the trainers of a job must agree on.  Used by both.
#ifndef PS_JOB_FINGERPRINT_H_
#define PS_JOB_FINGERPRINT_H_

#include <vector>

#include "config/fwd.h"
#include "job/job.h"
#include "net/transport.h"
#include "ps/server/shard_server.h"

namespace ps {

// The servers that the job names; none: one process does all.  Throws kUsage "cluster.servers: …".
std::vector<Address> server_addresses(const Job& job);

// Whether it has servers, which it names or which are found.
bool has_servers(const Job& job);

// What must be equal, of the job file.
Json job_fingerprint(const Job& job);

// The same of a checkpoint from which the job is to go on with the same bits: also how examples become
// batches.
Json job_identity(const Job& job);

// What a server needs of the job.  `job` must outlive it.
ServedJob served_job(const Job& job);

}  // namespace ps

#endif  // PS_JOB_FINGERPRINT_H_
