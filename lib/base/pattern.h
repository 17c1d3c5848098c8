// Patterns of names: "slot*" matches "slot1".  Used by inputs of layers and by columns of tables.
#ifndef PS_BASE_PATTERN_H_
#define PS_BASE_PATTERN_H_

#include <string_view>

namespace ps {

// True if `text` has a * or a ?.
bool is_pattern(std::string_view text);

// True if the whole of `name` matches: * stands for any characters, ? for one.
bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace ps

#endif  // PS_BASE_PATTERN_H_
