#include "net/sim/sim_network.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "net/sim/sim_host.h"
#include "net/sim/sim_process.h"
#include "net/sim/sim_stream.h"

namespace ps {

SimNetwork::SimNetwork(uint64_t seed) : random_(seed, 0) {}

SimNetwork::~SimNetwork() {
  // Processes end first, since they unwind through code that uses hosts.
  for (auto& [name, host] : hosts_) host->processes_.clear();
}

SimHost& SimNetwork::host(const std::string& name) {
  std::unique_ptr<SimHost>& host = hosts_[name];
  if (!host) host = std::make_unique<SimHost>(*this, name);
  return *host;
}

SimNetwork::Route& SimNetwork::route(SimHost& from, SimHost& to) {
  auto [found, is_new] = routes_.try_emplace({&from, &to});
  if (is_new) found->second.link = default_link_;
  return found->second;
}

void SimNetwork::cut(SimHost& one, SimHost& other) {
  std::vector<SimSide*> sides(one.sides_.begin(), one.sides_.end());
  for (SimSide* side : sides) {
    if (&side->peer_host() == &other) side->cut();
  }
}

void SimNetwork::block(SimHost& one, SimHost& other, bool blocked) {
  for (auto [from, to] : {std::pair(&one, &other), std::pair(&other, &one)}) {
    Route& there = route(*from, *to);
    there.blocked = blocked;
    if (blocked) continue;
    for (std::function<void()>& task : std::exchange(there.held, {})) {
      if (!to->crashed_) schedule(now(), to, std::move(task));
    }
  }
}

// Runs an event on its host.  A paused host keeps its events, and runs them in their order afterwards.
void SimNetwork::run_event(SimEvent event) {
  if (event.host == nullptr) return event.task();
  if (event.host->paused_) return event.host->held_.push_back(std::move(event.task));
  event.task();
  event.host->wake_processes();
}

bool SimNetwork::run_until(const std::function<bool()>& done, Time deadline) {
  while (!done()) {
    std::optional<SimEvent> event = timeline_.pop_until(deadline);
    if (!event) return false;
    run_event(std::move(*event));
  }
  return true;
}

// Bytes leave one after the other at the link's rate, and arrive a latency later.
Time SimNetwork::carry(SimHost& from, SimHost& to, uint64_t bytes, Time earliest,
                       std::function<void()> task) {
  if (from.crashed_) return earliest;
  Route& there = route(from, to);
  Duration sending = seconds_duration(static_cast<double>(bytes) / there.link.bytes_per_second);
  there.free_at = std::max(there.free_at, now()) + sending;
  Duration jitter = seconds_duration(to_seconds(there.link.jitter) * random_.uniform());
  Time arrival = std::max(earliest, there.free_at + there.link.latency + jitter);
  schedule(arrival, nullptr, [this, &from, &to, task = std::move(task)] { arrive(from, to, task); });
  return arrival;
}

void SimNetwork::arrive(SimHost& from, SimHost& to, std::function<void()> task) {
  if (to.crashed_) return;
  Route& there = route(from, to);
  if (there.blocked || !there.held.empty()) return there.held.push_back(std::move(task));
  schedule(now(), &to, std::move(task));
}

bool SimNetwork::processes_ended() {
  bool all = true;
  for (auto& [name, host] : hosts_) {
    for (auto& process : host->processes_) {
      if (process->ended() && process->error()) std::rethrow_exception(process->error());
      all = all && process->ended();
    }
  }
  return all;
}

}  // namespace ps
