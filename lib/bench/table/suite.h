// The suite `table`: rows by id, in SparseTable and in maps that others use.
#ifndef PS_BENCH_TABLE_SUITE_H_
#define PS_BENCH_TABLE_SUITE_H_

#include <memory>
#include <vector>

#include "bench/benchmark.h"
#include "bench/table/row_table.h"

namespace ps {

// Of SparseTable; sparse_rows.cc.
std::unique_ptr<RowTable> make_sparse_rows(ThreadPool& pool);

std::vector<Benchmark> table_benchmarks();

}  // namespace ps

#endif  // PS_BENCH_TABLE_SUITE_H_
