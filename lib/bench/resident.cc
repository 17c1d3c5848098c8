#include "bench/resident.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/memory.h"
#include "bench/pages.h"

namespace ps {

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t begin_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  return resident_bytes();
}

void warm_free_memory(uint64_t bytes) {
  constexpr size_t kSmallPage = 4096;
  Pages pages(std::min(bytes, available_memory_bytes() / 2), PageKind::kHuge);
  for (size_t at = 0; at < pages.size(); at += kSmallPage) pages.data()[at] = 1;
}

}  // namespace ps
