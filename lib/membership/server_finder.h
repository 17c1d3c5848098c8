// ServerFinder: finds the servers of a job, at the addresses that are named or under those that etcd knows.
// Used by run_job.
#ifndef PS_MEMBERSHIP_SERVER_FINDER_H_
#define PS_MEMBERSHIP_SERVER_FINDER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "membership/etcd_client.h"
#include "net/network.h"

namespace ps {

struct ServerFinderOptions {
  std::vector<Address> servers = {};  // without discovery
  std::string discovery = {};         // etcd://HOST:PORT/PREFIX; empty: `servers` are all
  int num_servers = 1;                // that have to be registered there
  double timeout = 60;                // seconds, until the last of them is
  std::function<bool()> stop = {};    // asked while it waits: true when this process is to end
};

// One owner thread.  The log outlives it.
class ServerFinder {
 public:
  ServerFinder(ServerFinderOptions options, Log& log);
  ~ServerFinder();

  // Returns the servers in their order; none: one process does all.  Waits for those that are not registered
  // yet, and says for whom; throws kUnavailable after the timeout, and WaitStopped when it is to stop.  While
  // etcd cannot be reached, those that were known last are the answer.
  std::vector<Address> find();

  // Returns true when some server has another address than find() gave last.  Quick, also without etcd.
  bool moved();

  // Null: the job has no etcd.
  EtcdClient* etcd() { return client_.get(); }

 private:
  std::optional<std::vector<Address>> look(std::string& missing);
  std::vector<Address> await_all();

  const ServerFinderOptions options_;
  Log& log_;
  const std::unique_ptr<Transport> network_ = make_network();
  std::unique_ptr<EtcdClient> client_;
  std::vector<Address> known_;  // as find() gave them last
  double looked_ = 0;           // seconds of the clock, when moved() looked last
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_SERVER_FINDER_H_
