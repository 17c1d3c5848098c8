// A catalogue: everything of one kind (optimizers, layers, …) that a job file can name by "type".  Adding a
// thing is a file that ends in one Entry, and a line in that folder's catalog.cc.  From the entry come
// parsing, errors, the JSON Schema, the manual's text, --list-…, and a place in the shared property tests.
#ifndef PS_CONFIG_CATALOG_H_
#define PS_CONFIG_CATALOG_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/fwd.h"
#include "config/spec.h"

namespace ps {

// Returns the entry that `object.type` names.  Throws kUsage "path.type: unknown <kind> 'x' (did you mean
// 'y'?)".
template <class Entry>
const Entry& find_entry(std::span<const Entry* const> catalog, const Json& object, std::string_view path,
                        std::string_view kind) {
  spec_internal::expect_object(object, path);
  std::string type_path = json_path(path, "type");
  auto found = object.find("type");
  if (found == object.end()) fail(Code::kUsage, type_path, ": missing (which ", kind, ")");
  std::string name;
  spec_internal::read(*found, FieldSpec{}, type_path, name);
  std::vector<std::string> names;
  for (const Entry* entry : catalog) {
    if (entry->name == name) return *entry;
    names.emplace_back(entry->name);
  }
  fail(Code::kUsage, type_path, ": unknown ", kind, " ", quote(name), did_you_mean(name, names),
       "; expected one of ", join(names, ", "));
}

// Returns `object` without its "type", as the entry's spec parses it.
inline Json without_type(Json object) {
  object.erase("type");
  return object;
}

// {"type": name, …the rest with defaults filled in}.  Throws kUsage.
template <class Entry>
Json complete_entry(const Entry& entry, const Json& object, std::string_view path) {
  Json out = {{"type", entry.name}};
  out.update(entry.spec().complete(without_type(object), path));
  return out;
}

// The schema of an object whose "type" chooses among the entries.
template <class Entry>
Json catalog_schema(std::span<const Entry* const> catalog) {
  Json any = Json::array();
  for (const Entry* entry : catalog) {
    Json schema = entry->spec().schema();
    schema["description"] = entry->help;
    schema["properties"]["type"] = {{"const", entry->name}};
    schema["required"].push_back("type");
    any.push_back(std::move(schema));
  }
  return {{"oneOf", any}};
}

}  // namespace ps

#endif  // PS_CONFIG_CATALOG_H_
