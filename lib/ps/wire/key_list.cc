#include "ps/wire/key_list.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace ps {

namespace {

// Computes keys from the differences between them.  `next` is the least value that the first key can have; it is
// 0 after the largest possible key.  Returns `next` for the key after the last one.
uint64_t decode_steps(std::string_view& list, uint64_t next, bool first, std::span<uint64_t> keys) {
  for (uint64_t& key : keys) {
    uint64_t step = 0;
    if (!get_varint(list, step)) fail(Code::kData, "a list of keys is cut short");
    if (step > UINT64_MAX - next || (!first && next == 0)) fail(Code::kData, "keys pass 64 bits");
    first = false;
    key = next + step;
    next = key + 1;
  }
  return next;
}

// Returns true if all differences of a block take one byte each and can be decoded without further checks.  The
// keys of most batches are close to each other; they take a third of the time in this way.
bool has_byte_steps(std::string_view list, std::span<const uint64_t> keys, uint64_t next) {
  return keys.size() == kVarintBlock && next < UINT64_MAX - 128 * kVarintBlock && short_varints(list);
}

uint64_t decode_byte_steps(std::string_view& list, uint64_t next, std::span<uint64_t> keys) {
  for (size_t j = 0; j < kVarintBlock; ++j) {
    keys[j] = next + static_cast<uint8_t>(list[j]);
    next = keys[j] + 1;
  }
  list.remove_prefix(kVarintBlock);
  return next;
}

}  // namespace

// A key is encoded as its distance to `next`, the least value that it can have: one more than the key
// before it.  Neighbouring keys therefore have the distance 0.
void encode_keys(std::span<const uint64_t> keys, std::string& out) {
  put(out, static_cast<uint32_t>(keys.size()));
  uint64_t next = 0;
  const uint64_t* key = keys.data();
  put_varints(out, keys.size(), [&] {
    const uint64_t step = *key - next;
    next = *key++ + 1;
    return step;
  });
}

// A key takes one byte at least, so that a list of `size` bytes has no more keys than that; this limits the
// memory that a damaged count can take.  Keys are decoded in blocks of kVarintBlock, the fast way where all
// distances of a block have one byte.  `next` is 0 at the beginning, and again behind the largest key,
// after which no key may follow.  The fast way does not check that, and so is only taken for a `next` of 0
// in the first block.
void decode_keys(ByteReader& in, std::vector<uint64_t>& keys, size_t most) {
  uint32_t count = in.get<uint32_t>(), size = in.get<uint32_t>();
  if (!in.has(size) || count > size) fail(Code::kData, "a list of ", count, " keys is cut short");
  if (count > most) fail(Code::kData, "a list of ", count, " keys, expected at most ", most);
  std::string_view list = in.get_bytes(size);
  keys.resize(count);
  uint64_t next = 0;
  for (size_t i = 0; i < count; i += kVarintBlock) {
    const std::span<uint64_t> block(keys.data() + i, std::min<size_t>(kVarintBlock, count - i));
    const bool first = i == 0, by_bytes = has_byte_steps(list, block, next) && (first || next != 0);
    next = by_bytes ? decode_byte_steps(list, next, block) : decode_steps(list, next, first, block);
  }
  if (!list.empty()) fail(Code::kData, "a list of keys: ", list.size(), " bytes too many");
}

}  // namespace ps
