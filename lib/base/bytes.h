// Little-endian coding of integers and arrays to and from byte strings.  Used by every file format and
// message of the toolkit.
#ifndef PS_BASE_BYTES_H_
#define PS_BASE_BYTES_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace ps {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

template <class Scalar>
requires std::is_trivially_copyable_v<Scalar>
void put(std::string& out, Scalar value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class Scalar>
void put_array(std::string& out, std::span<const Scalar> values) {
  if (!values.empty()) out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

// Reads the bytes that put wrote.  One owner thread.  A read past the end gives zeros, and ok() stays false from
// then on: a caller checks ok() once, at the end, but checks a length with has() before it allocates memory of
// that length.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class Scalar>
  requires std::is_trivially_copyable_v<Scalar> Scalar get() {
    Scalar value{};
    if (has(sizeof value)) {
      std::memcpy(&value, bytes_.data(), sizeof value);
      bytes_.remove_prefix(sizeof value);
    } else {
      ok_ = false;
    }
    return value;
  }

  // Fills `out`; it is left as it was when fewer bytes remain.
  template <class Scalar>
  void get_array(std::span<Scalar> out) {
    if (!has(out.size_bytes())) {
      ok_ = false;
    } else if (!out.empty()) {
      std::memcpy(out.data(), bytes_.data(), out.size_bytes());
      bytes_.remove_prefix(out.size_bytes());
    }
  }

  std::string_view get_bytes(size_t size) {
    if (!has(size)) return ok_ = false, std::string_view();
    std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }

  bool has(size_t size) const { return ok_ && bytes_.size() >= size; }
  size_t remaining() const { return bytes_.size(); }
  bool ok() const { return ok_; }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace ps

#endif  // PS_BASE_BYTES_H_
