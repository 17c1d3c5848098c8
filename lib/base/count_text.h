// Counts as people write them.  Used by flags, and by flags that override keys of the job file.
#ifndef PS_BASE_COUNT_TEXT_H_
#define PS_BASE_COUNT_TEXT_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace ps {

// "1000000", "1M", "2.5k", "1e6"; k, M, G and T are powers of 1000.  Returns nullopt unless the value is a
// whole number.
std::optional<int64_t> parse_count(std::string_view text);

}  // namespace ps

#endif  // PS_BASE_COUNT_TEXT_H_
