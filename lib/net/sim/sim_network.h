// SimNetwork: simulated hosts, links and time, for whole clusters in one process with faults.  The same seed
// gives the same run.  Used by tests, and by benchmarks of simulated clusters.
//
// A SimNetwork runs the events of a SimTimeline one at a time, in the order of their simulated time.  The
// program under test is not changed: it sees a Loop and a Transport.  Code that blocks (a trainer in
// Loop::run_until) is run as a process: a fibre with a stack of its own, and where it blocks the others go on.
//
// One owner thread.
#ifndef PS_NET_SIM_SIM_NETWORK_H_
#define PS_NET_SIM_SIM_NETWORK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "net/loop.h"
#include "net/sim/sim_host.h"
#include "net/sim/sim_links.h"

namespace ps {

class SimNetwork {
 public:
  explicit SimNetwork(uint64_t seed);
  ~SimNetwork();  // ends the processes; users of the hosts must be gone before
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  // Returns the host of this name, and makes it if it is new.  Its addresses are {name, port}.
  SimHost& host(const std::string& name);

  void set_default_link(const SimLink& link) { links_.set_default_link(link); }

  // ---- faults; those of pairs act in both directions

  // Resets every connection between the two, wherever its bytes are.
  void cut(SimHost& one, SimHost& other);
  // If `blocked`, nothing passes between the two until they are unblocked; then the sent bytes arrive.
  void block(SimHost& one, SimHost& other, bool blocked);

  // ---- time

  Time now() const { return links_.now(); }
  Random& random() { return links_.random(); }

  // Runs events until done() returns true; it is called at once and after each event.  Returns false at the
  // deadline, or if there are no more events.
  bool run_until(const std::function<bool()>& done, Time deadline) {
    return links_.run_until(done, deadline);
  }
  void run_for(Duration duration) {
    run_until([] { return false; }, add_time(now(), duration));
  }

  // Runs `task` at `time` on no host, for actions of the test.
  void at(Time time, std::function<void()> task) { links_.schedule(time, nullptr, std::move(task)); }

  // Returns true when all processes of all hosts have ended.  Rethrows the exception that ended one of them.
  bool processes_ended();

 private:
  SimLinks links_;
  std::map<std::string, std::unique_ptr<SimHost>> hosts_;
};

}  // namespace ps

#endif  // PS_NET_SIM_SIM_NETWORK_H_
