// ps-bench accuracy measures how good the model is that each strategy trains, and how many bytes it sends,
// beside all-reduce.  Used by cmd/ps-bench.cc.
#ifndef PS_BENCH_ACCURACY_PROGRAM_H_
#define PS_BENCH_ACCURACY_PROGRAM_H_

#include "base/log.h"
#include "cli/flags.h"
#include "cli/program.h"

namespace ps {

// Returns the program.  It is separate from the suites, since its flags are different.
Program accuracy_program();

int run_accuracy(const Flags& flags, Log& log);

}  // namespace ps

#endif  // PS_BENCH_ACCURACY_PROGRAM_H_
