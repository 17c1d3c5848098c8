// JSON documents with places in every error.  Used by the job file, model headers and results.
#ifndef PS_CONFIG_JSON_H_
#define PS_CONFIG_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "config/fwd.h"

namespace ps {

// The document in `text`.  Throws kUsage "name:line:column: what" on a syntax error, and on a duplicate key,
// which most parsers drop in silence, a number beyond double, or more than 100 levels.
Json parse_json(std::string_view text, std::string_view name);

// "path.key", without the dot when path is empty.
std::string json_path(std::string_view path, std::string_view key);

// "an object", "a string": what a value is, for messages.
std::string json_kind(const Json& value);

// Sets the value at a dotted path ("optimizer.learning_rate", "model.layers.0.size"), making objects on the
// way. `text` is JSON when it parses as JSON, else a string.  Throws kUsage.
void json_set(Json& document, std::string_view path, std::string_view text);

}  // namespace ps

#endif  // PS_CONFIG_JSON_H_
