// EtcdFence: keeps a server registered in etcd, and ends its service if another server has its number.  Used by
// ServerLease.
//
// A thread of its own renews the lease.  While etcd cannot be reached, the server continues with the trainers
// that know it.  If the lease has expired by the time etcd can be reached again, the server registers anew,
// unless another server has had its number: then this one is fenced.  A server that was stopped for half a
// lease asks etcd before it answers a request; if its lease has expired meanwhile, it answers none until etcd
// confirms its registration.
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
#include "membership/etcd_transport.h"
#include "membership/fence.h"

namespace ps {

struct EtcdFenceOptions {
  EtcdUrl url;
  TlsFiles tls = {};
  RegistrationOptions registration;
  Duration give_up_after = std::chrono::seconds(60);  // time without etcd before the server is registered
  std::function<bool()> stop;                         // called while it waits for etcd
  std::function<Time()> now = [] { return seconds_duration(monotonic_seconds()); };
};

// claim and check may be called on any thread.  The log outlives it.
class EtcdFence final : public Fence {
 public:
  // Returns when the server is registered, or when `stop` returns true.  Throws kUnavailable without etcd,
  // and kFenced if live servers have all numbers of the job.
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

  std::atomic<int64_t> valid_until_ = 0;  // nanoseconds of the clock; until then check need not ask etcd
  mutable std::mutex mutex_;
  std::condition_variable changed_;

  // Guarded by mutex_.
  bool ending_ = false, asked_ = false;
  bool unsure_ = false;  // this process was stopped, and has not reached etcd since
  std::optional<Error> fenced_;

  // Used by the constructor, then by the thread.
  EtcdTransport network_;
  EtcdClient client_;
  EtcdRegistration registration_;
  bool reachable_ = true;
  Time renewed_{};  // time of the last renewal, or of the last failed try

  int number_ = -1;  // constant once the server is registered
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_ETCD_FENCE_H_
