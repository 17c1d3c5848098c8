#include "base/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace ps {

namespace {

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Maps `bytes` of address space, aligned to huge pages if it is large enough for one.  The system supplies
// the memory when a page is first touched.
char* map_region(size_t bytes) {
  const bool huge = bytes >= HugeArena::kHugePage;
  const size_t spare = huge ? HugeArena::kHugePage : 0;
  void* mapped = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    fail(Code::kExhausted, "cannot map ", human_bytes(bytes), " of memory: ", std::strerror(errno));
  }
  char* begin = static_cast<char*>(mapped);
  if (!huge) return begin;
  // The mapping is longer by a huge page than needed; the parts before and behind the aligned region go
  // back.
  const size_t skip =
      round_up(reinterpret_cast<uintptr_t>(begin), HugeArena::kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (skip > 0) munmap(begin, skip);
  if (skip < spare) munmap(begin + skip + bytes, spare - skip);
  madvise(begin + skip, bytes, MADV_HUGEPAGE);  // if the system refuses, ordinary pages serve as well
  return begin + skip;
}

}  // namespace

HugeArena::~HugeArena() {
  for (const Region& region : regions_) munmap(region.begin, region.bytes);
}

void* HugeArena::allocate(size_t bytes) {
  bytes = round_up(bytes, kAlignment);
  std::lock_guard lock(mutex_);
  if (regions_.empty() || regions_.back().bytes - used_ < bytes) add_region(bytes);
  void* piece = regions_.back().begin + used_;
  used_ += bytes;
  return piece;
}

// Each region is twice as large as the one before, so that there are few of them and the unused end of the
// last one stays in proportion to the whole.
void HugeArena::add_region(size_t bytes) {
  size_t size = regions_.empty() ? kFirstRegion : std::min(regions_.back().bytes * 2, largest_region_);
  if (size < bytes) size = bytes;
  size = round_up(size, size < kHugePage ? kFirstRegion : kHugePage);
  regions_.reserve(regions_.size() + 1);
  char* begin = map_region(size);
  if (!regions_.empty()) closed_bytes_ += regions_.back().bytes;
  regions_.push_back({begin, size});
  used_ = 0;
}

uint64_t HugeArena::memory_bytes() const {
  std::lock_guard lock(mutex_);
  return closed_bytes_ + used_;
}

}  // namespace ps
