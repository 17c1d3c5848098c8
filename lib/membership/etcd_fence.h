// EtcdFence: keeps a server registered in etcd, and ends its service when another one has its place.  Used by
// serve_job.
//
// A thread of its own renews the lease.  While etcd cannot be reached, the server goes on with the trainers
// that know it; when etcd is there again and the lease has ended meanwhile, it registers anew, unless another
// server had its place: then it is fenced.  A server that was stopped for half a lease asks before it
// answers anybody; one whose lease has run out while it was stopped answers nobody until etcd has said that
// its place is still its own.
#ifndef PS_MEMBERSHIP_ETCD_FENCE_H_
#define PS_MEMBERSHIP_ETCD_FENCE_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "membership/etcd_registration.h"
#include "membership/fence.h"
#include "net/network.h"

namespace ps {

struct EtcdFenceOptions {
  EtcdPlace place;
  RegistrationOptions registration;
  Duration give_up_after = std::chrono::seconds(60);  // without etcd, before the server is registered
  std::function<bool()> stop;                         // asked while it waits for that
  std::function<Time()> now = [] { return seconds_duration(monotonic_seconds()); };
};

// claim and check on any thread.  The log outlives it.
class EtcdFence final : public Fence {
 public:
  // Returns when the server is registered, or is to stop.  Throws kUnavailable without etcd, and kFenced when
  // all numbers of the job are taken by servers that live.
  EtcdFence(EtcdFenceOptions options, Log& log);
  ~EtcdFence() override;

  void claim(int server) override;
  void check() override;

  std::optional<Error> fenced() const;
  int number() const { return number_; }

 private:
  void enter();
  bool try_enter(std::optional<Error>& problem);
  [[noreturn]] void fail_taken();
  void work();
  void renew();
  void go_on_without(Time asked, const Error& error);
  bool was_stopped(Time asked) const;
  Time now() const { return options_.now(); }

  const EtcdFenceOptions options_;
  Log& log_;
  const Duration lease_;

  std::atomic<int64_t> valid_until_ = 0;  // nanoseconds of the clock; before it nothing need be asked
  mutable std::mutex mutex_;
  std::condition_variable changed_;

  // Guarded by mutex_.
  bool ending_ = false, asked_ = false;
  bool unsure_ = false;  // this process was stopped, and etcd has not been reached since
  std::optional<Error> fenced_;

  // Used by the constructor, then by the thread.
  const std::unique_ptr<Transport> network_ = make_network();
  EtcdClient client_;
  EtcdRegistration registration_;
  bool reachable_ = true;
  Time renewed_{};  // when the lease was last renewed, or a try to do so has failed

  int number_ = -1;  // constant from then on
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_ETCD_FENCE_H_
