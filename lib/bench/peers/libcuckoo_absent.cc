#include "base/error.h"
#include "bench/peers/maps.h"

namespace ps {

std::unique_ptr<RowTable> make_libcuckoo_table() {
  fail(Code::kUnavailable, "libcuckoo was not installed when this was built");
}

}  // namespace ps
