// The count of calls of fail_nth.cc, for the files that replace the allocators.
#ifndef PS_TESTS_SUPPORT_FAIL_NTH_H_
#define PS_TESTS_SUPPORT_FAIL_NTH_H_

#include <cstddef>

namespace ps::failing {

enum class Kind {
  kNone,
  kMemory,
  kLargeMemory,
  kExceptions,
  kDescriptors,
  kWrites,
  kSyncs,
  kRenames,
  kConnects,
  kThreads
};

// Counts a call.  True for the one that is to fail.
bool fails(Kind kind);

// Counts an allocation of so many bytes as memory and as large memory.  True when it is to fail.
bool has_no_memory(size_t size);

}  // namespace ps::failing

#endif  // PS_TESTS_SUPPORT_FAIL_NTH_H_
