#include "ps/server/deferred_requests.h"

#include <utility>

namespace ps {

DeferredRequests::DeferredRequests(Loop& loop, Duration rest, std::function<StepRunner*()> runner)
    : loop_(loop), rest_(rest), runner_(std::move(runner)), timer_(loop, [this] { go_on(); }) {}

void DeferredRequests::defer(std::unique_ptr<DeferredRequest> request) {
  requests_.push_back(std::move(request));
  if (!timer_.started()) go_on_soon();
}

// The request leaves the list before it is handled.
void DeferredRequests::handle_first() {
  const std::unique_ptr<DeferredRequest> first = std::move(requests_.front());
  requests_.pop_front();
  first->held = HeldBytes();
  first->handle();
}

// Applies a slice of the step.  When the step has ended, handles some of the waiting requests; each of them
// may make the shard busy again.
void DeferredRequests::go_on() {
  constexpr int kMostRequests = 64;
  constexpr Duration kLongest = std::chrono::milliseconds(1);
  const Time end = add_time(loop_.now(), kLongest);
  if (is_busy()) runner_()->go_on();
  for (int i = 0; i < kMostRequests && loop_.now() < end; ++i) {
    if (requests_.empty() || is_busy()) break;
    handle_first();
  }
  if (must_wait()) go_on_soon();
}

void DeferredRequests::forget_held() {
  for (const std::unique_ptr<DeferredRequest>& request : requests_) request->held = HeldBytes();
}

void DeferredRequests::fail_all(const Error& error) {
  for (const std::unique_ptr<DeferredRequest>& request : std::exchange(requests_, {})) request->fail(error);
}

}  // namespace ps
