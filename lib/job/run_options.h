// RunOptions: the options of ps-train beyond the job file.  Used by run_job and all its parts.
#ifndef PS_JOB_RUN_OPTIONS_H_
#define PS_JOB_RUN_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/cpu.h"
#include "cli/progress.h"
#include "config/json.h"
#include "job/credential_renewal.h"
#include "job/missing_servers.h"
#include "job/operator_requests.h"
#include "net/secure_transport.h"

namespace ps {

struct RunOptions {
  std::string task = "train";  // train | test | predict | convert
  std::string importance;  // for test: the figure by which the importance of slots is measured; empty: none
  bool intervals = false;  // for test: intervals of the evaluators too
  int threads = 1;
  CpuLevel cpu = best_cpu_level();  // level of kernels
  bool resume = false;              // resume from the newest checkpoint
  // bytes of standard input that were read already; null: none
  std::shared_ptr<const std::string> input_head;
  std::string init_model;                 // a folder pass-00000 or a model file; empty: none
  std::string output = "-";               // output of predict and convert
  std::string output_format = "records";  // format of convert; for predict: numbers | names
  bool transform = false;                 // for convert: apply the transformations and the shuffle of the job
  std::string part = "all";  // for convert: all | training | validation, the part of the examples to write
  std::string metrics;       // file for JSON lines; empty: none
  std::optional<uint16_t> status_port;    // port of a page with curves, 0: any; nullopt: there is no page
  std::string status_host;                // host on which the page listens
  OperatorRequests* operators = nullptr;  // takes requests at the page down; not null if there is a page
  // the servers for which this process waits, which the page names
  std::shared_ptr<MissingServers> missing_servers = std::make_shared<MissingServers>();
  std::function<void(const Json&)> on_report;  // gets the lines of metrics; null: not called
  bool progressive = false;  // report the cost at powers of two of examples, instead of after batches
  bool json = false;         // print the result as JSON
  // for training: gets the result instead; null: the result is printed
  std::function<void(const Json&)> on_result;
  bool dry_run = false;  // log what would run, and change nothing
  ProgressMode progress = ProgressMode::kAuto;
  SecurityOptions security;              // credentials for servers and peers
  CredentialRenewal* renewal = nullptr;  // reads them again; null: they stay as they are
  std::string role = "trainer";  // trainer | reader, with cluster.compute | compute, see job/compute.h
  int rank = 0;                  // rank of this trainer
  uint64_t generation = 1;       // distinguishes this process from others of the same rank
  uint64_t lost_run = 0;         // the servers' run that has to go back to a checkpoint; 0: none
  std::function<bool()> stop;    // asked after each batch, and while it waits for others
  // Asked with each batch; true: apply row policies to tables after this step.
  std::function<bool()> shrink_asked = [] { return false; };
  // Asked after each batch; true: save the current model.
  std::function<bool()> save_asked = [] { return false; };
  // Asked after each batch; true: write a checkpoint.
  std::function<bool()> checkpoint_asked = [] { return false; };
};

}  // namespace ps

#endif  // PS_JOB_RUN_OPTIONS_H_
