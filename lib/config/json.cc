#include "config/json.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "config/json_message.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace ps {

namespace {

constexpr int kMaxDepth = 100;  // far beyond any job; copying and printing take stack for every level

// "line:column" of a byte offset (1-based, as the parser counts).
std::string line_and_column(std::string_view text, size_t offset) {
  std::string_view before = text.substr(0, std::min(offset > 0 ? offset - 1 : 0, text.size()));
  size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  size_t start = before.rfind('\n');
  size_t column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
  return cat(line, ":", column);
}

}  // namespace

std::string_view json_reason(std::string_view message) {
  size_t column = message.find("column");
  size_t start = column == std::string_view::npos ? message.find("] ") : message.find(": ", column);
  return start == std::string_view::npos ? message : message.substr(start + 2);
}

Json parse_json(std::string_view text, std::string_view name, JsonComments comments) {
  // The callback limits the depth, and collects the keys of each open object
  // in `keys`, because the parser itself accepts two equal keys without an error.
  std::vector<std::set<std::string>> keys;  // keys seen so far of each open object, outermost first
  auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) fail(Code::kUsage, name, ": nested deeper than ", kMaxDepth, " levels");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      fail(Code::kUsage, name, ": duplicate key ", quote(parsed.get<std::string>()));
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check, /*allow_exceptions=*/true,
                       comments == JsonComments::kIgnored);
  } catch (const Json::parse_error& error) {
    fail(Code::kUsage, name, ":", line_and_column(text, error.byte), ": ", json_reason(error.what()));
  } catch (const Json::exception& error) {  // a number too large for a double
    fail(Code::kUsage, name, ": ", json_reason(error.what()));
  }
}

std::string json_path(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : cat(path, ".", key);
}

std::string json_kind(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return cat("string ", quote(value.get_ref<const std::string&>()));
  return cat(value.is_number() ? "number " : "", value.dump());
}

void json_set(Json& document, std::string_view path, std::string_view text) {
  Json value = Json::parse(text.begin(), text.end(), nullptr, false);
  if (value.is_discarded()) value = std::string(text);
  // Walks down the path: an index selects an element of an array, a key selects a member of an object and
  // creates it if it is missing.
  Json* target = &document;
  for (std::string_view key : split(path, '.')) {
    if (key.empty()) fail(Code::kUsage, "--set ", quote(path), ": empty key in the path");
    if (target->is_array()) {
      std::optional<uint64_t> index = parse_uint(key);
      if (!index || *index >= target->size())
        fail(Code::kUsage, "--set ", quote(path), ": no element ", quote(key));
      target = &(*target)[*index];
    } else if (target->is_object() || target->is_null()) {
      target = &(*target)[std::string(key)];
    } else {
      fail(Code::kUsage, "--set ", quote(path), ": ", quote(key), " is inside ", json_kind(*target));
    }
  }
  *target = std::move(value);
}

}  // namespace ps
