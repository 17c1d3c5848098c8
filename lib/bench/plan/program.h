// ps-bench plan predicts how a cluster would train a job, by the cost model of lib/simulate.  Used by
// ps-bench.
#ifndef PS_BENCH_PLAN_PROGRAM_H_
#define PS_BENCH_PLAN_PROGRAM_H_

#include "base/log.h"
#include "cli/flags.h"
#include "cli/program.h"

namespace ps {

// Returns the program.  It is separate from the suites, since its flags are different.
Program plan_program();

int run_plan(const Flags& flags, Log& log);

}  // namespace ps

#endif  // PS_BENCH_PLAN_PROGRAM_H_
