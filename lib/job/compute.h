// The roles of readers and of compute trainers in heterogeneous training, ps(7).  Used by run_job and ps-train.
#ifndef PS_JOB_COMPUTE_H_
#define PS_JOB_COMPUTE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/batch.h"
#include "heter/compute_link.h"
#include "heter/reader_ahead.h"
#include "job/job.h"
#include "job/run_options.h"
#include "job/start_strategy.h"
#include "model/network.h"
#include "net/transport.h"

namespace ps {

// Returns the addresses in cluster.compute.  Throws kUsage.
std::vector<Address> compute_addresses(const Job& job);

// Throws kUsage if the job does not allow options.role.
void check_role(const Job& job, const RunOptions& options);

// Returns two lines: the parameters of readers and those of compute trainers, for --dry-run.
std::string describe_cut(const std::vector<ParameterSpec>& parameters);

// Tells the compute trainers that this reader takes no part in a run that had ended before it came.
void end_run_of_reader(const Job& job, const RunOptions& options, const DataSchema& schema,
                       RunningStrategy& running);

// A reader's part of a run: its connection to compute trainers, and, with train.pull_ahead, several batches on
// their way.  One owner thread.
class ReaderPart {
 public:
  // Connects.  All arguments but the schema outlive it.
  ReaderPart(const Job& job, const RunOptions& options, const DataSchema& schema, RunningStrategy& running,
             const Network<float>& network, Device& device, Log& log);

  Computation& computation();
  ParameterStore& store();  // the store that the trainer uses
  void end_run() { link_->end_run(); }
  void describe(Json& result) const;  // adds its counters to the result

 private:
  RunningStrategy& running_;
  std::unique_ptr<ComputeLink> link_;
  std::optional<LocalStore> layouts_;  // holds no rows; it gives the layouts of parameters
  std::optional<ReaderAhead> ahead_;   // nullopt: one batch at a time
};

// The address at which a compute trainer listens, and the memory that it has for readers.
struct ComputeEndpoint {
  std::string host = "localhost";
  uint16_t port = 0;      // 0: any free port
  std::string port_file;  // file to which the port is written; empty: none
  // memory for batches and answers; absent: half of the available memory
  std::optional<uint64_t> max_memory_bytes = {};
};

// Computes for readers until they have ended the run.  Returns false if options.stop ended it early.
bool run_compute(const Job& job, const RunOptions& options, const ComputeEndpoint& endpoint, Log& log);

}  // namespace ps

#endif  // PS_JOB_COMPUTE_H_
