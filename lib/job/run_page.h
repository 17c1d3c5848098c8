// RunPage: the status page of a trainer, which draws the reports of the run.  Used by run_job.
#ifndef PS_JOB_RUN_PAGE_H_
#define PS_JOB_RUN_PAGE_H_

#include <memory>

#include "base/log.h"
#include "job/job.h"
#include "job/run_curves.h"
#include "job/run_options.h"
#include "job/status_thread.h"

namespace ps {

// The owner's thread makes and destroys it.
class RunPage {
 public:
  // Listens and answers from now on at options.status_host and status_port, and logs the address.  Throws
  // kUsage if peers without credentials would be admitted from other machines, and as Transport::listen does.
  RunPage(const Job& job, const RunOptions& options, Log& log);
  RunPage(const RunPage&) = delete;
  RunPage& operator=(const RunPage&) = delete;

  // Any thread may call it.
  void add(const Json& report) { curves_->add(report); }

 private:
  const std::shared_ptr<RunCurves> curves_ = std::make_shared<RunCurves>();
  std::unique_ptr<StatusThread> thread_;
  std::shared_ptr<void> renewal_;  // of its credentials
};

}  // namespace ps

#endif  // PS_JOB_RUN_PAGE_H_
