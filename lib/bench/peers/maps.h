// Hash maps that other programs keep their rows in, and what they keep them in on disk.  Each is a file that
// is compiled where CMake found the library's headers (share/cmake/Peers.cmake), else its twin
// NAME_absent.cc, which throws kUnavailable.
#ifndef PS_BENCH_PEERS_MAPS_H_
#define PS_BENCH_PEERS_MAPS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "bench/table/row_table.h"

namespace ps {

std::unique_ptr<RowTable> make_libcuckoo_table();
std::unique_ptr<RowTable> make_absl_table();
std::unique_ptr<RowTable> make_robin_map_table();
std::unique_ptr<RowTable> make_unordered_map_table();

// In a folder of its own in `directory`.
std::unique_ptr<RowTable> make_rocksdb_table(const std::string& directory, uint64_t memory_bytes);

}  // namespace ps

#endif  // PS_BENCH_PEERS_MAPS_H_
