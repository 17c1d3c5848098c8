#include "gpu/emulated/device_memory.h"

#include <utility>

#include "base/error.h"
#include "gpu/emulated/hooks.h"

namespace ps::gpu::emulated {

namespace {

uintptr_t address_of(const void* data) {
  return reinterpret_cast<uintptr_t>(data);
}

// Returns the device memory that an array of so many bytes takes: whole units, as on CUDA.
uint64_t rounded(uint64_t bytes) {
  constexpr uint64_t kUnit = 256;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

void check_intact(const GuardedArray& array) {
  if (!array.intact())
    fail(Code::kInternal, "device array of ", array.bytes(), " bytes: a write went past its end");
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  PS_CHECK(arrays_.empty());
}

void* DeviceMemory::allocate(uint64_t bytes) {
  if (rounded(bytes) < bytes || rounded(bytes) > total_bytes_ - used_bytes_) {
    fail(Code::kExhausted, "no device memory for ", bytes, " bytes: ", total_bytes_ - used_bytes_, " of ",
         total_bytes_, " are free");
  }
  GuardedArray array(bytes);
  void* data = array.data();
  hooks::close_memory(data, bytes);
  arrays_.emplace(address_of(data), std::move(array));
  used_bytes_ += rounded(bytes);
  return data;
}

void DeviceMemory::release(void* memory) {
  const auto found = arrays_.find(address_of(memory));
  if (found == arrays_.end()) fail(Code::kInternal, "memory is released that is no array of the device");
  const GuardedArray array = std::move(found->second);
  used_bytes_ -= rounded(array.bytes());
  arrays_.erase(found);
  check_intact(array);
}

// Returns the array in which the address lies or at whose end it is; null if there is none.  The map is
// ordered by addresses, so that only the last array that begins before it can be the one.
const GuardedArray* DeviceMemory::array_at(uintptr_t address) const {
  const auto after = arrays_.upper_bound(address);
  if (after == arrays_.begin()) return nullptr;
  const auto& [begin, array] = *std::prev(after);
  return address - begin <= array.bytes() ? &array : nullptr;
}

bool DeviceMemory::holds(const void* data, uint64_t bytes) const {
  const GuardedArray* array = array_at(address_of(data));
  return array != nullptr && bytes <= array->bytes() - (address_of(data) - address_of(array->data()));
}

// Only the last array that begins before the end of the bytes can overlap them.
bool DeviceMemory::touches(const void* data, uint64_t bytes) const {
  if (bytes == 0) return false;
  const auto after = arrays_.lower_bound(address_of(data) + bytes);
  if (after == arrays_.begin()) return false;
  const auto& [begin, array] = *std::prev(after);
  return begin + array.bytes() > address_of(data);
}

void DeviceMemory::open() const {
  for (const auto& [begin, array] : arrays_) hooks::open_memory(array.data(), array.bytes());
}

// All arrays are closed first, so that an error of one strip leaves none of them open.
void DeviceMemory::close() const {
  for (const auto& [begin, array] : arrays_) hooks::close_memory(array.data(), array.bytes());
  for (const auto& [begin, array] : arrays_) check_intact(array);
}

}  // namespace ps::gpu::emulated
