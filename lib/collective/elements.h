// Elements: a view of the numbers that a collective adds or moves: pointer, count and type.  Used by
// communicators and by the algorithms, which are written once for all types.
#ifndef PS_COLLECTIVE_ELEMENTS_H_
#define PS_COLLECTIVE_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/transport.h"

namespace ps {

enum class ElementType : uint8_t { kF32, kF64, kI64 };

size_t bytes_of(ElementType type);

// A view of an array of one of the types.  It does not own the numbers, which must outlive it.
class Elements {
 public:
  Elements(std::span<float> values) : Elements(values.data(), values.size(), ElementType::kF32) {}
  Elements(std::span<double> values) : Elements(values.data(), values.size(), ElementType::kF64) {}
  Elements(std::span<int64_t> values) : Elements(values.data(), values.size(), ElementType::kI64) {}
  template <class T>
  Elements(std::vector<T>& values) : Elements(std::span<T>(values)) {}

  size_t count() const { return count_; }
  ElementType type() const { return type_; }
  size_t element_bytes() const { return bytes_of(type_); }
  size_t size_bytes() const { return count_ * element_bytes(); }
  MutableBytes bytes() const { return {data_, size_bytes()}; }

  Elements part(size_t first, size_t count) const {
    return Elements(data_ + first * element_bytes(), count, type_);
  }

 private:
  Elements(void* data, size_t count, ElementType type)
      : data_(static_cast<char*>(data)), count_(count), type_(type) {}

  char* data_;
  size_t count_;
  ElementType type_;
};

// into[i] = into[i] + other[i], element by element.  `other` has the bytes of as many elements of the same
// type as `into`, at an address that suits them; the two must not overlap.  Integers wrap around.
void add_elements(Elements into, ConstBytes other);

// The same for sums in a byte buffer: into[i] = into[i] + other[i].
void add_elements(ElementType type, MutableBytes into, ConstBytes other);

}  // namespace ps

#endif  // PS_COLLECTIVE_ELEMENTS_H_
