// A host of a simulated network: a loop, a transport, processes, and ways to fail.  See sim_network.h.
#ifndef PS_NET_SIM_SIM_HOST_H_
#define PS_NET_SIM_SIM_HOST_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"
#include "net/sim/sim_links.h"
#include "net/sim/sim_process.h"
#include "net/transport.h"

namespace ps {

class SimAttempt;
class SimListener;

class SimHost final : public Transport, public SimPlace {
 public:
  using FindHost = std::function<SimHost*(const std::string& name)>;  // null: there is none of this name

  SimHost(SimLinks& links, std::string name, FindHost find_host);
  ~SimHost() override;

  Loop& loop() override { return loop_; }
  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) override;
  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) override;

  // Runs `body` as a process of this host, from the next event on.  Its calls of loop().run_until let the
  // rest of the network run.
  void spawn(std::function<void()> body);

  // Returns true when all processes have ended.  Rethrows the exception that ended one of them.
  bool processes_ended() const;

  // ---- faults

  // Runs nothing here until resume(), as a stopped process does, or one that collects garbage.
  void pause() { paused_ = true; }
  void resume();

  // Ends the processes at whatever point they are; the system closes their connections.  Returns true if a
  // process had not ended.  Not to be called by a process.
  bool kill();

  // Resets every connection to the other host, wherever its bytes are.
  void cut_from(SimHost& other);

  // Simulates a failure of power: until restart(), nothing leaves this host.  The test destroys the objects that
  // ran here in between.  After the restart, the host does not know the earlier connections, and resets them
  // when they are used.
  void crash();
  void restart();

 private:
  friend class SimListener;

  class HostLoop final : public Loop {
   public:
    explicit HostLoop(SimHost& host) : host_(host) {}
    Time now() const override { return host_.links().now(); }
    void post(Task task) override { host_.links().schedule(now(), &host_, std::move(task)); }
    bool run_until(const std::function<bool()>& done, Time deadline) override;
    bool may_change_threads() const override { return false; }  // all processes run on one thread
    void wake() {
      post([this] { fire_timers(); });
    }

   private:
    // Each alarm replaces the one before, whose event may still come.
    void set_alarm(Time time) override {
      host_.links().schedule(time, &host_, [this, number = ++num_alarms_] {
        if (number == num_alarms_) fire_timers();
      });
    }

    SimHost& host_;
    uint64_t num_alarms_ = 0;
  };

  void knock(const std::shared_ptr<SimAttempt>& attempt, uint16_t port);
  void wake_processes() override;

  const FindHost find_host_;
  HostLoop loop_;
  std::map<uint16_t, SimListener*> listeners_;
  uint16_t next_port_ = 40000;
  std::vector<std::unique_ptr<SimProcess>> processes_;
};

}  // namespace ps

#endif  // PS_NET_SIM_SIM_HOST_H_
