#include "base/error.h"
#include "bench/peers/maps.h"

namespace ps {

std::unique_ptr<RowTable> make_absl_table() {
  fail(Code::kUnavailable, "absl was not installed when this was built");
}

}  // namespace ps
