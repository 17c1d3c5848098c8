// error_of: the message of the error that a call throws.  Used by tests of messages.
#ifndef PS_TESTS_SUPPORT_THROWN_ERROR_H_
#define PS_TESTS_SUPPORT_THROWN_ERROR_H_

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.h"

namespace ps {

// The message of the error that `body` throws, which is to have this code.
inline std::string error_of(const std::function<void()>& body, Code code) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.message();
  }
  return "nothing was thrown";
}

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_THROWN_ERROR_H_
