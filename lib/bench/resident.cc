#include "bench/resident.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/memory.h"

namespace ps {

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Writing 5 to clear_refs sets the peak of the process (VmHWM) to its present resident memory; see proc(5).
uint64_t begin_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  return resident_bytes();
}

static constexpr size_t kSmallPage = 4096;

// Maps `bytes`, or half of the free memory if that is less, and touches all pages.
static Pages touched_pages(uint64_t bytes, PageKind kind) {
  Pages pages(std::min(bytes, available_memory_bytes() / 2), kind);
  for (size_t at = 0; at < pages.size(); at += kSmallPage) pages.data()[at] = 1;
  return pages;
}

void warm_free_memory(uint64_t bytes) {
  touched_pages(bytes, PageKind::kHuge);
}

// Keeps the pages mapped while it waits for the host to have looked at the memory that was freed before.
void warm_quiet_memory(uint64_t bytes) {
  constexpr uint64_t kMuch = 500'000'000;
  constexpr auto kUntilLooked = std::chrono::milliseconds(2500);
  const Pages pages = touched_pages(bytes, PageKind::kHuge);
  if (pages.size() >= kMuch) std::this_thread::sleep_for(kUntilLooked);
}

// Gives back all of each piece of 512 KiB except its first small page: the touched memory is free again for
// the system, but no piece of it is long enough for the host to take.
WarmMemory::WarmMemory(uint64_t bytes) : held_(touched_pages(bytes, PageKind::kSmall)) {
  constexpr size_t kPiece = 512 << 10;
  for (size_t at = 0; at + kPiece <= held_.size(); at += kPiece) {
    madvise(held_.data() + at + kSmallPage, kPiece - kSmallPage, MADV_DONTNEED);
  }
}

}  // namespace ps
