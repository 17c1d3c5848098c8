// How much of what may be done very often a test does, as the environment says; tests/run.sh asks for less
// where sanitizers make it slow.
#ifndef PS_TESTS_SUPPORT_ENVIRONMENT_H_
#define PS_TESTS_SUPPORT_ENVIRONMENT_H_

#include <cstdint>
#include <cstdlib>

namespace ps {

inline int64_t number_from_environment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoll(text) : otherwise;
}

// Of what is tried many times in a row, each one in so many is: 1, or PS_TRY_EVERY.
inline int64_t try_every() {
  return number_from_environment("PS_TRY_EVERY", 1);
}

// `times`, or the part of it that is tried: 1 at least.
inline int64_t tries(int64_t times) {
  return (times + try_every() - 1) / try_every();
}

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_ENVIRONMENT_H_
