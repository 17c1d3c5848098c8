// RunOptions: how ps-train runs a job: the command line beyond the job file.  Used by run_job and by all that it is made of.
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
#include "net/secure_transport.h"

namespace ps {

struct RunOptions {
  std::string task = "train";  // train | test | predict | convert
  std::string importance;      // of test: the figure whose loss tells how important slots are; empty: none
  int threads = 1;
  CpuLevel cpu = best_cpu_level();                // of kernels
  bool resume = false;                            // go on from the newest checkpoint
  std::shared_ptr<const std::string> input_head;  // bytes of standard input that were read before; null: none
  std::string init_model;                         // a folder pass-00000 or a model file; empty: none
  std::string output = "-";                       // of predict and convert
  std::string output_format = "records";          // of convert; of predict: numbers | names
  bool transform = false;    // of convert: apply the transformations and the shuffle of the job
  std::string part = "all";  // of convert: all | training | validation, which of the examples are written
  std::string metrics;       // file for JSON lines; empty: none
  std::optional<uint16_t> status_port;         // of a page with curves, 0: any; none: there is no page
  std::string status_host;                     // where it listens
  std::function<void(const Json&)> on_report;  // gets what goes into metrics; null: nobody
  bool progressive = false;  // report the cost at powers of two of examples, instead of after batches
  bool json = false;         // print the result as JSON
  std::function<void(const Json&)> on_result;  // of training: gets the result instead; null: it is printed
  bool dry_run = false;                        // say what would run, touch nothing
  ProgressMode progress = ProgressMode::kAuto;
  SecurityOptions security;      // what is shown to servers, and by what they are known
  std::string role = "trainer";  // trainer | reader, with cluster.compute | compute, see job/compute.h
  int rank = 0;                  // of this trainer among cluster.trainers
  uint64_t generation = 1;       // tells this process from others of the same rank
  uint64_t lost_run = 0;         // of servers, which has to go back to a checkpoint; 0: none
  std::function<bool()> stop;    // asked after each batch, and while it waits for others
  // Asked with each batch: whether to shrink tables whose rows come and go.
  std::function<bool()> shrink_asked = [] { return false; };
  // Asked after each batch: whether to save the model as it then is.
  std::function<bool()> save_asked = [] { return false; };
  // Asked after each batch: whether a checkpoint is to be written.
  std::function<bool()> checkpoint_asked = [] { return false; };
};

}  // namespace ps

#endif  // PS_JOB_RUN_OPTIONS_H_
