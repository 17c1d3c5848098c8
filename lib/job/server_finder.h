// ServerFinder: where the servers of a job are, as its job file says or etcd knows; and who saves its models,
// when etcd knows that.  Used by ps-train's side of a job.
#ifndef PS_JOB_SERVER_FINDER_H_
#define PS_JOB_SERVER_FINDER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "job/job.h"
#include "membership/etcd_client.h"
#include "net/network.h"

namespace ps {

// One owner thread.  What it is given outlives it.
class ServerFinder {
 public:
  // `stop` is asked while it waits: whether this process is to end.
  ServerFinder(const Job& job, std::function<bool()> stop, Log& log);
  ~ServerFinder();

  // In their order; none: one process does all.  Waits for those that are not registered yet, saying for
  // whom, as long as the job allows: then throws kUnavailable; and WaitStopped when it is to stop.  While
  // etcd cannot be reached, those that were known last are the answer.
  std::vector<Address> find();

  // Whether some server has another address than find() gave last.  Quick, also without etcd.
  bool moved();

  // Null: the job has no etcd.
  EtcdClient* etcd() { return client_.get(); }

 private:
  std::optional<std::vector<Address>> look(std::string& missing);
  std::vector<Address> await_all();

  const Job& job_;
  const std::function<bool()> stop_;
  Log& log_;
  const std::unique_ptr<Transport> network_ = make_network();
  std::unique_ptr<EtcdClient> client_;
  std::vector<Address> known_;
  double looked_ = 0;  // seconds of the clock
};

}  // namespace ps

#endif  // PS_JOB_SERVER_FINDER_H_
