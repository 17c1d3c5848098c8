#include "cli/interrupts.h"

#include <unistd.h>

#include <atomic>

#include "base/error.h"
#include "base/text.h"

namespace ps {

namespace {

// The signal handler uses these and nothing else.  The line is set before the handler is installed.
std::atomic<int> received{0};
std::atomic<const std::string*> announcement{nullptr};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<const std::string*>::is_always_lock_free);

void handle(int number) {
  if (received.exchange(number) != 0) {
    // This is the second signal: its default action is taken when this handler returns.
    std::signal(number, SIG_DFL);
    raise(number);
    return;
  }
  int saved_errno = errno;
  if (const std::string* line = announcement.load()) {
    ssize_t written = write(STDERR_FILENO, line->data(), line->size());
    static_cast<void>(written);
  }
  errno = saved_errno;
}

}  // namespace

Interrupts::Interrupts(const std::string& program, const std::string& text)
    : line_(cat("\n", program, ": interrupted: ", text, "\n")) {
  const std::string* none = nullptr;
  PS_CHECK(announcement.compare_exchange_strong(none, &line_));
  received = 0;
  struct sigaction action {};
  action.sa_handler = handle;
  sigaction(SIGINT, &action, &previous_int_);
  sigaction(SIGTERM, &action, &previous_term_);
}

Interrupts::~Interrupts() {
  sigaction(SIGINT, &previous_int_, nullptr);
  sigaction(SIGTERM, &previous_term_, nullptr);
  announcement = nullptr;
}

int Interrupts::signal_number() const {
  return received.load();
}

}  // namespace ps
