// The names of JSON values and specs, for headers that only mention them: compiling nlohmann/json.hpp takes a
// second.  Sources that read JSON values include config/json.h; sources that define a spec include
// config/spec.h.
#ifndef PS_CONFIG_FWD_H_
#define PS_CONFIG_FWD_H_

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace ps {

using Json = nlohmann::ordered_json;  // keeps the order of keys, as people wrote them

class AnySpec;
template <class T>
class ObjectSpec;

// The fields that every entry of a catalogue has (config/catalog.h).  Each catalogue derives its own entry
// from it, with a factory:
//   struct OptimizerEntry : CatalogEntry { std::unique_ptr<Optimizer> (*make)(const Json&, …); };
struct CatalogEntry {
  std::string_view name;     // the "type" in the job file
  std::string_view help;     // one sentence, for lists and manuals
  const AnySpec& (*spec)();  // keys beside "type"
};

}  // namespace ps

#endif  // PS_CONFIG_FWD_H_
