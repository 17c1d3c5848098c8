#include <absl/container/flat_hash_map.h>

#include "bench/peers/map_rows.h"
#include "bench/peers/maps.h"

namespace ps {

std::unique_ptr<RowTable> make_absl_table() {
  return std::make_unique<MapTable<absl::flat_hash_map<uint64_t, MapRow>>>();
}

}  // namespace ps
