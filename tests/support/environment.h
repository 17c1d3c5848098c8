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

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_ENVIRONMENT_H_
