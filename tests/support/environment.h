// How much of what may be done very often a test does, as the environment says; tests/run.sh asks for less
// where sanitizers make it slow.
#ifndef PS_TESTS_SUPPORT_ENVIRONMENT_H_
#define PS_TESTS_SUPPORT_ENVIRONMENT_H_

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>

namespace ps {

inline int64_t number_from_environment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoll(text) : otherwise;
}

// A test that tries many similar cases tries one in so many: 1, or PS_TRY_EVERY.
inline int64_t try_every() {
  return number_from_environment("PS_TRY_EVERY", 1);
}

// The same for cases of which each is one of a few kinds: one in no more than `most`.
inline int64_t try_every(int64_t most) {
  return std::min(try_every(), most);
}

// Returns the number of cases out of `times` to try: at least 1.
inline int64_t tries(int64_t times) {
  return (times + try_every() - 1) / try_every();
}

// The same where every kind of case is to be among them: one in no more than `most`.
inline int64_t tries(int64_t times, int64_t most) {
  return (times + try_every(most) - 1) / try_every(most);
}

// Bytes of address space that this process has.
inline uint64_t address_space_bytes() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// True in a build with a sanitizer, which takes terabytes of address space.  A sanitizer ends a process that has no
// memory left, and without descriptors it cannot look at memory and takes sound objects for damaged ones.
inline bool is_sanitized() {
  return address_space_bytes() > uint64_t{1} << 40;
}

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_ENVIRONMENT_H_
