// The suite `table`: it measures rows by id, in SparseTable and in maps that others use.
#ifndef PS_BENCH_TABLE_SUITE_H_
#define PS_BENCH_TABLE_SUITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/table/row_table.h"

namespace ps {

// Make tables over SparseTable; they are in sparse_rows.cc.  The second keeps rows of `memory_bytes` in
// memory and the others in a file.
std::unique_ptr<RowTable> make_sparse_rows(Device& device);
std::unique_ptr<RowTable> make_spilled_rows(Device& device, const std::string& directory,
                                            uint64_t memory_bytes);

std::vector<Benchmark> table_benchmarks();

}  // namespace ps

#endif  // PS_BENCH_TABLE_SUITE_H_
