#include "base/memory_reserve.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace ps {

namespace {

constexpr size_t kReserveBytes = size_t{1} << 18;

std::atomic<void*> reserve{nullptr};

// operator new tries again after this function has returned.
void give_up_reserve() {
  void* const given = reserve.exchange(nullptr);
  if (given == nullptr) throw std::bad_alloc();
  std::free(given);
}

}  // namespace

MemoryReserve::MemoryReserve() {
  reserve = std::malloc(kReserveBytes);
  std::set_new_handler(give_up_reserve);
}

MemoryReserve::~MemoryReserve() {
  std::set_new_handler(nullptr);
  std::free(reserve.exchange(nullptr));
}

}  // namespace ps
