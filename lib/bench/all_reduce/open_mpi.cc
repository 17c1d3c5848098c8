#include "bench/all_reduce/open_mpi.h"

#include "base/error.h"
#include "base/file.h"
#include "bench/process/child.h"

namespace ps {

namespace {

// The program's arguments are the number of floats and the number of calls.  It prints the number of wrong
// values, then the microseconds of each call on rank 0, one on a line.  The values are those of the class
// Sums: known sums are checked first; then the data are zeros, in two calls that are not timed and in those
// that are.
constexpr const char* kProgram = R"(
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int count = atoi(argv[1]), calls = atoi(argv[2]);
  float* data = malloc(count * sizeof *data + 1);
  double* micros = malloc(calls * sizeof *micros);
  for (int i = 0; i < count; ++i) data[i] = i % 1021 * (rank + 1);
  MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  long wrong = 0, all_wrong = 0;
  for (int i = 0; i < count; ++i) wrong += data[i] != (float)(i % 1021 * (size * (size + 1) / 2));
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) data[i] = 0;
  for (int call = 0; call < 2; ++call)
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  for (int call = 0; call < calls; ++call) {
    const double begin = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    micros[call] = 1e6 * (MPI_Wtime() - begin);
  }
  if (rank == 0) {
    printf("%ld\n", all_wrong);
    for (int call = 0; call < calls; ++call) printf("%.3f\n", micros[call]);
  }
  MPI_Finalize();
  return 0;
}
)";

constexpr const char* kOrigin = "Debian's libopenmpi-dev and openmpi-bin";

double number(std::string_view line) {
  std::optional<double> value = parse_double(line);
  if (!value) fail(Code::kInternal, "the program under mpirun printed ", quote(line));
  return *value;
}

}  // namespace

OpenMpiProgram::OpenMpiProgram(const std::string& scratch) : folder_(scratch) {
  expect_program("mpicc", kOrigin);
  expect_program("mpirun", kOrigin);
  write_file(folder_.path("all_reduce.c"), kProgram);
  run_child({.words = {"mpicc", "-O3", "-o", folder_.path("all_reduce"), folder_.path("all_reduce.c")},
             .errors = folder_.path("errors")});
}

// MPI uses TCP between processes of one machine too, so that both programs do the same work: ob1 with the
// transports tcp and self leaves shared memory out.  With --bind-to none the system places the ranks as it
// places ours, and --oversubscribe allows more ranks than cores.
OpenMpiResult OpenMpiProgram::run(int ranks, size_t count, int calls) {
  const std::string output = folder_.path("output");
  run_child({.words = {"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n",
                       cat(ranks), "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca",
                       "btl_tcp_if_include", "lo", folder_.path("all_reduce"), cat(count), cat(calls)},
             .output = output,
             .errors = folder_.path("errors")});
  OpenMpiResult result;
  const std::string text = read_file(output);
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.size() < static_cast<size_t>(calls) + 1) {
    fail(Code::kInternal, "the program under mpirun printed ", lines.size(), " lines, expected ", calls + 1);
  }
  result.wrong = static_cast<uint64_t>(number(lines[0]));
  for (size_t i = 1; i <= static_cast<size_t>(calls); ++i) {
    result.micros.push_back(number(lines[i]));
    result.seconds += result.micros.back() / 1e6;
  }
  return result;
}

}  // namespace ps
