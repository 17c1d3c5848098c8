// std::unordered_map, the peer that every build has.
#include <unordered_map>

#include "bench/peers/map_rows.h"
#include "bench/peers/maps.h"

namespace ps {

std::unique_ptr<RowTable> make_unordered_map_table() {
  return std::make_unique<MapTable<std::unordered_map<uint64_t, MapRow>>>();
}

}  // namespace ps
