// Key lists in messages: the number of keys, the number of bytes, and then the differences between the
// ascending keys as varints.  ps-wire(5).
#ifndef PS_PS_WIRE_KEY_LIST_H_
#define PS_PS_WIRE_KEY_LIST_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/varint.h"

namespace ps {

// Appends a key list; the keys ascend.
void encode_keys(std::span<const uint64_t> keys, std::string& out);

// Throws kData.  It refuses more than `most` keys before it allocates memory for them, since a byte may become a
// key of eight bytes.
void decode_keys(ByteReader& in, std::vector<uint64_t>& keys, size_t most = SIZE_MAX);

// Appends the number of bytes of `count` varints, and the varints, which next() returns one by one.
template <class Next>
void put_varints(std::string& out, size_t count, Next&& next) {
  const size_t size_at = out.size();
  put(out, uint32_t{0});
  append_varints(out, count, next);
  const uint32_t size = static_cast<uint32_t>(out.size() - size_at - sizeof(uint32_t));
  std::memcpy(out.data() + size_at, &size, sizeof size);
}

}  // namespace ps

#endif  // PS_PS_WIRE_KEY_LIST_H_
