// SimLinks: the time of a simulated network, and the links between its hosts.  SimPlace: a host, as links,
// connections and processes see it.  See sim_network.h.
#ifndef PS_NET_SIM_SIM_LINKS_H_
#define PS_NET_SIM_SIM_LINKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "net/loop.h"
#include "net/sim/sim_timeline.h"

namespace ps {

class SimLinks;
class SimSide;

// One owner thread, that of the network.
class SimPlace {
 public:
  SimPlace(SimLinks& links, std::string name) : links_(links), name_(std::move(name)) {}
  virtual ~SimPlace() = default;
  SimPlace(const SimPlace&) = delete;
  SimPlace& operator=(const SimPlace&) = delete;

  SimLinks& links() { return links_; }
  const std::string& name() const { return name_; }

  // The sides of connections that have a living stream here.
  std::set<SimSide*>& sides() { return sides_; }

  // Runs an event here, and then the processes that it wakes.  A paused place keeps its events, and runs them in
  // their order afterwards.
  void run_event(std::function<void()> task);

  // Lets processes here see that the time has come.
  void wake_at(Time time);

  bool crashed() const { return crashed_; }

 protected:
  virtual void wake_processes() = 0;

  bool paused_ = false, crashed_ = false;
  std::vector<std::function<void()>> held_;  // events that wait while it is paused

 private:
  SimLinks& links_;
  const std::string name_;
  std::set<SimSide*> sides_;
};

// One direction between two hosts.
struct SimLink {
  Duration latency = std::chrono::microseconds(100);
  Duration jitter = Duration(0);  // up to this is added to each latency; bytes stay in order
  double bytes_per_second = 1e9;
  uint64_t window_bytes = 256 << 10;  // limit of the bytes of a connection that are sent and not read
  bool split = false;                 // writes and reads may end after any byte
};

// One owner thread, that of the network.
class SimLinks {
 public:
  explicit SimLinks(uint64_t seed) : random_(seed, 0) {}

  Time now() const { return timeline_.now(); }
  Random& random() { return random_; }

  // Runs `task` at `time`, at a place or, if that is null, nowhere.
  void schedule(Time time, SimPlace* place, std::function<void()> task) {
    timeline_.add(time, place, std::move(task));
  }

  // Works as SimNetwork::run_until.
  bool run_until(const std::function<bool()>& done, Time deadline);

  void set_default_link(const SimLink& link) { default_link_ = link; }
  const SimLink& link(SimPlace& from, SimPlace& to) { return route(from, to).link; }

  // If `blocked`, nothing passes in this direction until it is unblocked; then the sent bytes arrive.
  void block(SimPlace& from, SimPlace& to, bool blocked);

  // Runs `task` at `to` when `bytes` sent by `from` now have arrived, not before `earliest`; returns when.
  Time carry(SimPlace& from, SimPlace& to, uint64_t bytes, Time earliest, std::function<void()> task);

 private:
  // The state of one direction between two hosts.
  struct Route {
    SimLink link;
    Time free_at{};  // when the last byte sent so far has left
    bool blocked = false;
    std::vector<std::function<void()>> held;  // arrivals, while it is blocked
  };

  Route& route(SimPlace& from, SimPlace& to);
  void arrive(SimPlace& from, SimPlace& to, std::function<void()> task);

  Random random_;
  SimLink default_link_;
  SimTimeline timeline_;
  std::map<std::pair<SimPlace*, SimPlace*>, Route> routes_;
};

}  // namespace ps

#endif  // PS_NET_SIM_SIM_LINKS_H_
