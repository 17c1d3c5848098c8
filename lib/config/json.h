// Parsing of JSON documents, with line and column in every error.  Used by the job file, model headers and
// results.
#ifndef PS_CONFIG_JSON_H_
#define PS_CONFIG_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "config/fwd.h"

// Its members are compiled once, in json.cc, and not again in every source that reads a value.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace ps {

// Comments in a document, // to the end of the line and /* */: only people write them.
enum class JsonComments { kRefused, kIgnored };

// The document in `text`.  Throws kUsage "name:line:column: reason" on a syntax error, on a duplicate key,
// which most parsers accept silently, on a number beyond the range of double, and on more than 100 levels of
// nesting.
Json parse_json(std::string_view text, std::string_view name, JsonComments comments = JsonComments::kRefused);

// "path.key", without the dot when path is empty.
std::string json_path(std::string_view path, std::string_view key);

// Names the type of a value for messages: "an object", "a string".
std::string json_kind(const Json& value);

// Sets the value at a dotted path ("optimizer.learning_rate", "model.layers.0.size"), creating the objects on
// its path.  `text` is taken as JSON if it parses as JSON, else as a string.  Throws kUsage.
void json_set(Json& document, std::string_view path, std::string_view text);

}  // namespace ps

#endif  // PS_CONFIG_JSON_H_
