// Starts threads, and throws an Error when the system has no room for one more.  Used by everything that has
// threads.
#ifndef PS_BASE_START_THREAD_H_
#define PS_BASE_START_THREAD_H_

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace ps {

// Throws kExhausted.
template <class Body>
std::thread start_thread(Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    fail(Code::kExhausted, "cannot start a thread: ", error.code().message());
  }
}

}  // namespace ps

#endif  // PS_BASE_START_THREAD_H_
