// Hash maps in which other programs keep their rows, and RocksDB, in which they keep rows on disk.  Each is a
// source that is compiled where CMake found the library's headers (share/cmake/Peers.cmake); else
// NAME_absent.cc takes its place, which throws kUnavailable.
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

// Makes a table in a folder of its own inside `directory`.
std::unique_ptr<RowTable> make_rocksdb_table(const std::string& directory, uint64_t memory_bytes);

}  // namespace ps

#endif  // PS_BENCH_PEERS_MAPS_H_
