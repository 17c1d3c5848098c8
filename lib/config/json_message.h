// The messages of the parser of JSON.  Used by code that runs the parser itself and names the place of a fault
// in its own words.
#ifndef PS_CONFIG_JSON_MESSAGE_H_
#define PS_CONFIG_JSON_MESSAGE_H_

#include <string_view>

namespace ps {

// Returns a message of the parser without its prefix, which names the kind of error and its place.
std::string_view json_reason(std::string_view message);

}  // namespace ps

#endif  // PS_CONFIG_JSON_MESSAGE_H_
