#include "collective/elements.h"

#include "base/error.h"

namespace ps {

namespace {

// Adds signed integers as unsigned ones, which wrap around.
template <class T>
void add(MutableBytes into, ConstBytes other) {
  T* sums = reinterpret_cast<T*>(into.data());
  const T* terms = reinterpret_cast<const T*>(other.data());
  const size_t count = into.size() / sizeof(T);
  for (size_t i = 0; i < count; ++i) sums[i] += terms[i];
}

}  // namespace

size_t bytes_of(ElementType type) {
  return type == ElementType::kF32 ? sizeof(float) : sizeof(double);
}

void add_elements(ElementType type, MutableBytes into, ConstBytes other) {
  PS_CHECK(into.size() == other.size());
  switch (type) {
    case ElementType::kF32:
      return add<float>(into, other);
    case ElementType::kF64:
      return add<double>(into, other);
    case ElementType::kI64:
      return add<uint64_t>(into, other);
  }
}

void add_elements(Elements into, ConstBytes other) {
  add_elements(into.type(), into.bytes(), other);
}

}  // namespace ps
