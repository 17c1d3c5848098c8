#include <tsl/robin_map.h>

#include "base/hash.h"
#include "bench/peers/map_rows.h"
#include "bench/peers/maps.h"

namespace ps {

namespace {

// A hash that spreads keys.  std::hash of a number is the number itself, and this map uses its low bits
// alone.
struct Spread {
  size_t operator()(uint64_t key) const { return hash_key(key); }
};

}  // namespace

std::unique_ptr<RowTable> make_robin_map_table() {
  return std::make_unique<MapTable<tsl::robin_map<uint64_t, MapRow, Spread>>>();
}

}  // namespace ps
