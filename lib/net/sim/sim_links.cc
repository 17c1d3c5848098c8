#include "net/sim/sim_links.h"

#include <algorithm>
#include <optional>

namespace ps {

// Each event may have made the conditions of processes true, so all of them are asked after it.
void SimPlace::run_event(std::function<void()> task) {
  if (paused_) return held_.push_back(std::move(task));
  task();
  wake_processes();
}

void SimPlace::wake_at(Time time) {
  if (time != kNever) links_.schedule(time, this, [] {});
}

// The clock jumps from event to event: it does not move while code runs.
bool SimLinks::run_until(const std::function<bool()>& done, Time deadline) {
  while (!done()) {
    std::optional<SimEvent> event = timeline_.pop_until(deadline);
    if (!event) return false;
    event->place == nullptr ? event->task() : event->place->run_event(std::move(event->task));
  }
  return true;
}

SimLinks::Route& SimLinks::route(SimPlace& from, SimPlace& to) {
  auto [found, is_new] = routes_.try_emplace({&from, &to});
  if (is_new) found->second.link = default_link_;
  return found->second;
}

// Messages that were held arrive when the route opens, like segments that TCP sends again.
void SimLinks::block(SimPlace& from, SimPlace& to, bool blocked) {
  Route& there = route(from, to);
  there.blocked = blocked;
  if (blocked) return;
  for (std::function<void()>& task : std::exchange(there.held, {})) {
    if (!to.crashed()) schedule(now(), &to, std::move(task));
  }
}

// Bytes leave one after the other at the link's rate, and arrive a latency later.
Time SimLinks::carry(SimPlace& from, SimPlace& to, uint64_t bytes, Time earliest,
                     std::function<void()> task) {
  if (from.crashed()) return earliest;
  Route& there = route(from, to);
  Duration sending = seconds_duration(static_cast<double>(bytes) / there.link.bytes_per_second);
  there.free_at = std::max(there.free_at, now()) + sending;
  Duration jitter = seconds_duration(to_seconds(there.link.jitter) * random_.uniform());
  Time arrival = std::max(earliest, there.free_at + there.link.latency + jitter);
  schedule(arrival, nullptr, [this, &from, &to, task = std::move(task)] { arrive(from, to, task); });
  return arrival;
}

// Messages keep their order: while earlier ones are held, later ones wait behind them.
void SimLinks::arrive(SimPlace& from, SimPlace& to, std::function<void()> task) {
  if (to.crashed()) return;
  Route& there = route(from, to);
  if (there.blocked || !there.held.empty()) return there.held.push_back(std::move(task));
  schedule(now(), &to, std::move(task));
}

}  // namespace ps
