#include "cli/request_signal.h"

#include <atomic>

#include "base/error.h"

namespace ps {

namespace {

std::atomic<bool> in_use{false}, received{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void handle(int) {
  received = true;
}

}  // namespace

RequestSignal::RequestSignal(int number) : number_(number) {
  const bool another = in_use.exchange(true);
  PS_CHECK(!another);
  received = false;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;  // nothing has to end for it
  sigaction(number_, &action, &previous_);
}

RequestSignal::~RequestSignal() {
  sigaction(number_, &previous_, nullptr);
  in_use = false;
}

bool RequestSignal::take() {
  return received.exchange(false);
}

}  // namespace ps
