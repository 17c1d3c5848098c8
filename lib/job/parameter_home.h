// ParameterHome: where the parameters of a run are: in this process, or on the servers of its job.
#ifndef PS_JOB_PARAMETER_HOME_H_
#define PS_JOB_PARAMETER_HOME_H_

#include <memory>
#include <vector>

#include "base/log.h"
#include "base/thread_pool.h"
#include "config/json.h"
#include "data/batch.h"
#include "job/job.h"
#include "job/run.h"
#include "job/server_finder.h"
#include "store/group.h"
#include "store/local_store.h"
#include "store/parameter_store.h"

namespace ps {

// One owner thread.
class ParameterHome {
 public:
  virtual ~ParameterHome() = default;
  virtual ParameterStore& store() = 0;
  virtual Group& group() = 0;
  virtual LocalStore* local() { return nullptr; }  // the store, when it is in this process

  // To be called at least every few seconds: lets servers know that this process lives.
  virtual void keep_alive() {}

  // To be called by a process that ends early, before it saves, as RemoteStore::settle.
  virtual void settle(double seconds) { (void)seconds; }

  // What happened on the way to servers, for the result of a run: {"pushes_dropped": 0, …}.
  virtual Json counters() const { return Json::object(); }
};

// Throws kUsage unless this process can take part in the run that job and options ask for.
void check_part(const Job& job, const RunOptions& options);

// Connects to the servers, if there are any, telling people whom it waits for.  Throws kUnavailable, kUsage
// when they have another job, and kExhausted when the parameters do not fit in this process.
std::unique_ptr<ParameterHome> make_home(const Job& job, const RunOptions& options, const DataSchema& schema,
                                         const std::vector<ParameterSpec>& parameters, ServerFinder& servers,
                                         ThreadPool& pool, Log& log);

}  // namespace ps

#endif  // PS_JOB_PARAMETER_HOME_H_
