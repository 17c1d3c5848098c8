// Serves a job: the shards of one server, each on a port and a thread of its own.  Used by ps-serve.
#ifndef PS_JOB_SERVE_H_
#define PS_JOB_SERVE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/cpu.h"
#include "base/log.h"
#include "base/temporary_folder.h"
#include "job/job.h"
#include "net/secure_transport.h"

namespace ps {

struct ServeOptions {
  std::string host = "localhost";            // to listen on, Address of net/transport.h
  SecurityOptions security;                  // who is let in
  std::string advertise;                     // name or number by which others reach this server; empty: host
  uint16_t port = 7164;                      // the first of consecutive ports; 0: any that are free
  bool local_sockets = false;                // Unix sockets beside them
  int ports_num = 1;                         // shards with dense parameters
  int ports_num_for_sparse = 0;              // shards with sparse ones; 0: the same as those with dense ones
  std::string port_file;                     // gets the ports, one a line; empty: none
  std::optional<uint16_t> status_port;       // of the status pages; 0: any that is free
  std::optional<uint64_t> max_memory_bytes;  // of tables and messages; by default, what is available
  std::string spill_dir;                     // for rows not used for long; empty: they stay in memory
  std::optional<uint64_t> spill_memory;      // for the others, with spill_dir
  std::string scratch_dir = default_temporary_parent();  // for what trainers make models of
  CpuLevel cpu = best_cpu_level();                       // of kernels
  bool resume = false;                                   // go on from the newest checkpoint
  bool durable = false;                                  // what is applied is logged before it is answered
  bool dry_run = false;                                  // only check the job
  // Asked several times a second: whether to end, and whether a checkpoint is to be written.
  std::function<bool()> stop;
  std::function<bool()> checkpoint_asked = [] { return false; };
  // Asked as often: whether the files of tokens and certificates have changed.
  std::function<bool()> credentials_asked = [] { return false; };
};

// Serves until `stop`, then ends every connection and returns.  Prints a line of JSON to standard output when
// it is ready.  Throws as ShardServer's constructor does, as ServerLease does, kFenced when another server
// has its place, and when a log cannot be written or read.
void serve_job(const Job& job, const ServeOptions& options, Log& log);

}  // namespace ps

#endif  // PS_JOB_SERVE_H_
