// Serves a job with the shards of one server, each on a port and a thread of its own.  Used by ps-serve.
#ifndef PS_JOB_SERVE_H_
#define PS_JOB_SERVE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/cpu.h"
#include "base/log.h"
#include "base/temporary_folder.h"
#include "job/credential_renewal.h"
#include "job/job.h"
#include "job/operator_requests.h"
#include "net/secure_transport.h"

namespace ps {

struct ServeOptions {
  std::string host = "localhost";  // host to listen on; see Address of net/transport.h
  SecurityOptions security;        // credentials of this server and of its peers
  std::string advertise;           // name or number at which others reach this server; empty: host
  uint16_t port = 7164;            // the first of consecutive ports; 0: any free ones
  bool local_sockets = false;      // also listen on Unix sockets
  int ports_num = 1;               // shards with dense parameters
  int ports_num_for_sparse = 0;  // shards with sparse parameters; 0: the shards with dense ones have them too
  std::string port_file;         // file for the ports, one a line; empty: none
  std::optional<uint16_t> status_port;    // port of the status pages; 0: any free one
  OperatorRequests* operators = nullptr;  // takes requests at the pages down; not null if there are pages
  // limit for tables and messages; by default, the available memory
  std::optional<uint64_t> max_memory_bytes;
  std::string spill_dir;  // folder for rows that were not used for long; empty: they stay in memory
  std::optional<uint64_t> spill_memory;                  // memory for all other rows, with spill_dir
  std::string scratch_dir = default_temporary_parent();  // folder for files from which trainers make models
  CpuLevel cpu = best_cpu_level();                       // level of kernels
  bool resume = false;                                   // resume from the newest checkpoint
  bool durable = false;                                  // changes are logged before they are answered
  bool dry_run = false;                                  // only check the job
  // Asked several times a second; true: end, or write a checkpoint.
  std::function<bool()> stop;
  std::function<bool()> checkpoint_asked = [] { return false; };
  CredentialRenewal* renewal = nullptr;  // reads tokens and certificates again; null: they stay as they are
};

// Serves until `stop`, then ends every connection and returns.  Prints a line of JSON to standard output when
// it is ready.  Throws as ShardServer's constructor and ServerLease do, kFenced if another server has its
// place, and if a log cannot be written or read.
void serve_job(const Job& job, const ServeOptions& options, Log& log);

}  // namespace ps

#endif  // PS_JOB_SERVE_H_
