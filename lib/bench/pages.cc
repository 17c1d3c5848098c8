#include "bench/pages.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/error.h"
#include "base/memory.h"

namespace ps {

namespace {

constexpr uint64_t kHugeBytes = uint64_t{2} << 20;

uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

// Maps a huge page more than is needed and begins at the first boundary in it, since a mapping itself is
// aligned to small pages only.  Memory that is not free is refused here: the system would grant it and end
// the process later.
Pages::Pages(uint64_t bytes, PageKind kind)
    : mapped_(round_up(bytes, kHugeBytes) + kHugeBytes), size_(bytes) {
  if (uint64_t available = available_memory_bytes(); available < bytes) {
    fail(Code::kUnavailable, "needs ", human_bytes(bytes), " of memory, ", human_bytes(available),
         " are free");
  }
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) fail_errno(Code::kExhausted, "cannot get memory of", human_bytes(bytes), errno);
  // madvise only advises: a kernel without huge pages gives small ones.
  madvise(mapping_, mapped_, kind == PageKind::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  uint64_t address = reinterpret_cast<uint64_t>(mapping_);
  data_ = static_cast<char*>(mapping_) + (round_up(address, kHugeBytes) - address);
}

Pages::Pages(Pages&& other) noexcept
    : mapping_(other.mapping_), mapped_(other.mapped_), size_(other.size_), data_(other.data_) {
  other.mapping_ = nullptr;
}

Pages::~Pages() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

ThreadPart thread_part(int64_t items, int threads, int64_t index) {
  return {items * index / threads, items * (index + 1) / threads};
}

uint64_t scaled_power(double scale, uint64_t full, uint64_t unit) {
  uint64_t bytes = unit;
  while (static_cast<double>(bytes * 2) <= scale * static_cast<double>(full)) bytes *= 2;
  return bytes;
}

}  // namespace ps
