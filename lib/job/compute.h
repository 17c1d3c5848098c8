// Heterogeneous training, ps(7): the roles of readers and of compute trainers.  Used by run_job and ps-train.
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

// cluster.compute.  Throws kUsage.
std::vector<Address> compute_addresses(const Job& job);

// Throws kUsage when the job has no place for options.role.
void check_role(const Job& job, const RunOptions& options);

// In two lines, the parameters that readers and compute trainers have, for --dry-run.
std::string describe_cut(const std::vector<ParameterSpec>& parameters);

// A reader's part of a run: its connection to compute trainers, and, with train.pull_ahead, several batches on their way.
class ReaderPart {
 public:
  // Connects.  All but the schema outlive it.
  ReaderPart(const Job& job, const RunOptions& options, const DataSchema& schema, RunningStrategy& running,
             const Network<float>& network, Device& device, Log& log);

  Computation& computation();
  ParameterStore& store();  // with which the trainer trains
  void end_run() { link_->end_run(); }
  void describe(Json& result) const;  // adds counters

 private:
  RunningStrategy& running_;
  std::unique_ptr<ComputeLink> link_;
  std::optional<LocalStore> layouts_;  // holds nothing but says how parameters are stored
  std::optional<ReaderAhead> ahead_;   // null: one batch at a time
};

// The address at which a compute trainer listens, and the memory that it has for readers.
struct ComputeEndpoint {
  std::string host = "localhost";
  uint16_t port = 0;                              // 0: any that is free
  std::string port_file;                          // where the port is written; empty: nowhere
  std::optional<uint64_t> max_memory_bytes = {};  // of batches and answers; absent: half of what is available
};

// Computes for readers until they have ended the run; false when options.stop ended it early.
bool run_compute(const Job& job, const RunOptions& options, const ComputeEndpoint& endpoint, Log& log);

}  // namespace ps

#endif  // PS_JOB_COMPUTE_H_
