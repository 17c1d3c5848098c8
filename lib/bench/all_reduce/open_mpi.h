// Runs the all-reduce of Open MPI over TCP, in processes of its own.  Used by the suite `all-reduce`.
#ifndef PS_BENCH_ALL_REDUCE_OPEN_MPI_H_
#define PS_BENCH_ALL_REDUCE_OPEN_MPI_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/temporary_folder.h"

namespace ps {

struct OpenMpiResult {
  double seconds = 0;          // seconds of all calls on rank 0
  std::vector<double> micros;  // time of each call on rank 0
  uint64_t wrong = 0;          // wrong values on all ranks in one more call
};

// A small C program that calls MPI_Allreduce, compiled by Open MPI's mpicc.  One owner thread.
class OpenMpiProgram {
 public:
  // Compiles the program in a folder of its own inside `scratch`.  Throws kUnavailable when Open MPI is not
  // installed.
  explicit OpenMpiProgram(const std::string& scratch);

  // Runs the program under mpirun: `calls` all-reduces of `count` floats, after some that are not timed.
  OpenMpiResult run(int ranks, size_t count, int calls);

 private:
  TemporaryFolder folder_;
};

}  // namespace ps

#endif  // PS_BENCH_ALL_REDUCE_OPEN_MPI_H_
