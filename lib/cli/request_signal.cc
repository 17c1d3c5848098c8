#include "cli/request_signal.h"

#include <array>
#include <atomic>

#include "base/error.h"

namespace ps {

namespace {

// The signal handler uses these and nothing else.  Indexed by the signal's number.
std::array<std::atomic<bool>, NSIG> in_use{}, asked{};
static_assert(std::atomic<bool>::is_always_lock_free);

void note(int number) {
  asked[static_cast<size_t>(number)] = true;
}

}  // namespace

RequestSignal::RequestSignal(int number) : number_(number) {
  const size_t index = static_cast<size_t>(number);
  const bool another = in_use[index].exchange(true);
  PS_CHECK(!another);
  asked[index] = false;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;  // system calls need not end early
  sigaction(number_, &action, &previous_);
}

RequestSignal::~RequestSignal() {
  sigaction(number_, &previous_, nullptr);
  in_use[static_cast<size_t>(number_)] = false;
}

bool RequestSignal::take() {
  return asked[static_cast<size_t>(number_)].exchange(false);
}

}  // namespace ps
