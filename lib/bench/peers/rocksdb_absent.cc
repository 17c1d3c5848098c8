#include "base/error.h"
#include "bench/peers/maps.h"

namespace ps {

std::unique_ptr<RowTable> make_rocksdb_table(const std::string&, uint64_t) {
  fail(Code::kUnavailable, "RocksDB was not installed when this was built");
}

}  // namespace ps
