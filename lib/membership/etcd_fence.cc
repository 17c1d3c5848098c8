#include "membership/etcd_fence.h"

#include <utility>

#include "base/current_error.h"
#include "base/start_thread.h"
#include "net/backoff.h"

namespace ps {

// The timeout of a call to etcd is less than the time that is left of a lease after two failed renewals.
EtcdFence::EtcdFence(EtcdFenceOptions options, Log& log)
    : options_(std::move(options)),
      log_(log),
      lease_(std::chrono::seconds(options_.registration.lease_seconds)),
      network_(options_.tls),
      client_(network_, options_.url, lease_ / 4),
      registration_(client_, options_.registration) {
  enter();
  number_ = registration_.number();
  renewed_ = now();
  if (number_ >= 0) thread_ = start_thread([this] { work(); });
}

EtcdFence::~EtcdFence() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  registration_.leave();
}

// ---- registration

// Tries to register until it succeeds, or `stop` returns true.  There are two reasons to give up, with a
// time for each: etcd has been out of reach for give_up_after since `begin`; or all numbers have been taken
// since taken_since.  The latter waits for more than the length of a lease, since the entry of a stopped or
// disconnected server has expired by then.
void EtcdFence::enter() {
  const Time begin = now();
  Time taken_since = kNever;
  Backoff backoff({.first = std::chrono::milliseconds(50), .longest = lease_ / 4},
                  Random(static_cast<uint64_t>(begin.count()), 0));
  while (!options_.stop()) {
    std::optional<Error> problem;
    const Time asked = now();
    if (try_enter(problem)) return;
    if (problem) {
      if (asked - begin >= options_.give_up_after) throw *problem;
      log_.info("waiting for ", options_.url.text, ": ", problem->message());
    } else if (taken_since == kNever) {
      taken_since = asked;
      log_.info("waiting for a place: all servers of the job are registered in ", options_.url.text);
    } else if (asked - taken_since >= lease_ + lease_ / 2) {
      fail_taken();
    }
    network_.loop().run_until(options_.stop, add_time(network_.loop().now(), backoff.next()));
  }
}

// Returns true if the server is registered.  Otherwise all numbers are taken, or `problem` says why etcd
// cannot be reached.  The lease counts from before the request, as in renew.
bool EtcdFence::try_enter(std::optional<Error>& problem) {
  try {
    const Time asked = now();
    if (!registration_.enter()) return false;
    valid_until_ = add_time(asked, lease_ / 2).count();
    log_.info("Server ", registration_.number(), " of the job in ", options_.url.text, ", generation ",
              registration_.generation());
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable) throw;
    problem = error;
    return false;
  }
}

void EtcdFence::fail_taken() {
  std::string names;
  for (const RegisteredServer& server : registered_servers(client_)) {
    names += cat(names.empty() ? "" : "; ", server.number, ": ", server.name);
  }
  fail(Code::kFenced, "every server of the job in ", options_.url.text, " lives (", names,
       "), and cluster.num_servers is ", options_.registration.num_servers);
}

// ---- service

// If a trainer names the servers in another order, it has read their addresses at another time.
void EtcdFence::claim(int server) {
  if (server == number_) return;
  fail(Code::kUnavailable, "this is server ", number_, " of the job, not ", server);
}

// Until valid_until_ a call only compares two times, so that shards can ask before every request.  After it
// the lease may have expired, and another server may have the number: the caller wakes the thread, and
// waits until it has renewed the lease, or has found that it is lost.  A process that was stopped does not
// wait for an etcd that cannot be reached; its trainers get an error, after which they try again.
void EtcdFence::check() {
  if (now().count() < valid_until_) return;
  std::unique_lock lock(mutex_);
  while (!fenced_ && !ending_ && now().count() >= valid_until_) {
    if (unsure_) {
      fail(Code::kUnavailable, "this server was stopped for longer than its lease, and ", options_.url.text,
           " does not say whether its place is still its own");
    }
    asked_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, lease_);
  }
  if (fenced_) throw *fenced_;
}

std::optional<Error> EtcdFence::fenced() const {
  std::lock_guard lock(mutex_);
  return fenced_;
}

// The loop of the thread: it renews the lease every quarter of its length, or as soon as a check asks for
// it.  The lock is released for the renewal, which waits for the network; changed_ wakes the checks that
// wait for its result.
void EtcdFence::work() {
  std::unique_lock lock(mutex_);
  while (!ending_ && !fenced_) {
    changed_.wait_for(lock, lease_ / 4, [this] { return ending_ || asked_; });
    if (ending_) return;
    asked_ = false;
    lock.unlock();
    renew();
    lock.lock();
    changed_.notify_all();
  }
}

// The time of the request counts, not that of the answer: this process may have been stopped in between.
void EtcdFence::renew() {
  const Time asked = now();
  try {
    if (registration_.renew()) {
      log_.warning("this server's lease in ", options_.url.text,
                   " had ended, and nobody had its place: ", "it is registered anew, generation ",
                   registration_.generation());
    }
    if (!reachable_) log_.info(options_.url.text, " is there again");
    reachable_ = true;
    renewed_ = asked;
    std::lock_guard lock(mutex_);
    unsure_ = false;
    valid_until_ = add_time(asked, lease_ / 2).count();
  } catch (...) {
    const Error error = current_error();
    if (error.code() != Code::kFenced) {
      go_on_without(asked, error);
    } else {
      std::lock_guard lock(mutex_);
      fenced_ = error;
      valid_until_ = 0;
    }
    renewed_ = now();
  }
}

// Without an answer the state is unknown.  The trainers have stayed with this server, so it continues for
// now, unless it was stopped: then the trainers may have changed to another server.
void EtcdFence::go_on_without(Time asked, const Error& error) {
  std::lock_guard lock(mutex_);
  const bool was_unsure = unsure_;
  unsure_ |= was_stopped(asked);
  if (unsure_ && !was_unsure) {
    log_.warning("stopped for longer than the lease: answering nobody without ", options_.url.text, ": ",
                 error.message());
  } else if (reachable_) {
    log_.warning("going on with the trainers that are here, without ", options_.url.text, ": ",
                 error.message());
  }
  reachable_ = false;
  valid_until_ = unsure_ ? 0 : add_time(now(), lease_ / 2).count();
}

// Returns true if this process was stopped since the last try to renew the lease, or during one that began at
// `asked`.  Tries begin a quarter of a lease apart, and take at most a quarter at each endpoint.
bool EtcdFence::was_stopped(Time asked) const {
  const Duration longest = lease_ / 4 * static_cast<int64_t>(options_.url.endpoints.size());
  return asked - renewed_ >= lease_ * 3 / 4 || now() - asked >= longest + lease_ / 2;
}

}  // namespace ps
