#include "base/error.h"
#include "bench/peers/maps.h"

namespace ps {

std::unique_ptr<RowTable> make_robin_map_table() {
  fail(Code::kUnavailable, "tsl::robin_map was not installed when this was built");
}

}  // namespace ps
