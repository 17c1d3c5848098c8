// The messages of the parser of JSON.  Used by whoever runs it, and says the place of a fault in words of its own.
#ifndef PS_CONFIG_JSON_MESSAGE_H_
#define PS_CONFIG_JSON_MESSAGE_H_

#include <string_view>

namespace ps {

// A message of the parser, without its prefix of names and places.
std::string_view json_reason(std::string_view message);

}  // namespace ps

#endif  // PS_CONFIG_JSON_MESSAGE_H_
