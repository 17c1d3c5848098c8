// ServerFinder: finds the servers of a job, by given addresses or by those registered in etcd.  Used by
// run_job.
#ifndef PS_MEMBERSHIP_SERVER_FINDER_H_
#define PS_MEMBERSHIP_SERVER_FINDER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "membership/etcd_client.h"
#include "membership/etcd_transport.h"

namespace ps {

struct ServerFinderOptions {
  std::vector<Address> servers = {};  // used without discovery
  std::string discovery = {};         // etcd://HOST:PORT/PREFIX; empty: `servers` lists all servers
  TlsFiles tls = {};                  // files for connections to etcd
  int num_servers = 1;                // number of servers that must be registered there
  double timeout = 60;                // seconds to wait for the last of them
  std::function<bool()> stop = {};    // called during waits: returns true if this process is to end
  // Called when find() waits, with a message that names the servers that are not registered, or says that etcd
  // cannot be reached; and with an empty one when it returns.
  std::function<void(const std::string&)> on_missing = [](const std::string&) {};
};

// One owner thread.  The log outlives it.
class ServerFinder {
 public:
  ServerFinder(ServerFinderOptions options, Log& log);
  ~ServerFinder();

  // Returns the servers in their order; empty if one process does all.  Waits for servers that are not
  // registered yet, and logs their numbers.  Throws kUnavailable after the timeout, and WaitStopped when
  // `stop` returns true.  While etcd cannot be reached, it returns the last known addresses.
  std::vector<Address> find();

  // Returns true if a server has another address than find() returned last.  Returns soon, also without etcd.
  bool moved();

  // Null if the job has no etcd.
  EtcdClient* etcd() { return client_.get(); }

 private:
  std::optional<std::vector<Address>> look(std::string& missing);
  std::vector<Address> await_all();

  const ServerFinderOptions options_;
  Log& log_;
  EtcdTransport network_;
  std::unique_ptr<EtcdClient> client_;
  std::vector<Address> known_;  // the result of the last find()
  double looked_ = 0;           // seconds of the clock at the last look of moved()
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_SERVER_FINDER_H_
