// WordNumbers: a number for each of some words, found by views of their bytes.  Used by the columns of tables.
#ifndef PS_DATA_CSV_WORD_NUMBERS_H_
#define PS_DATA_CSV_WORD_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"

namespace ps {

struct WordHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return static_cast<size_t>(hash_bytes(text)); }
};
using WordNumbers = std::unordered_map<std::string, uint64_t, WordHash, std::equal_to<>>;

}  // namespace ps

#endif  // PS_DATA_CSV_WORD_NUMBERS_H_
