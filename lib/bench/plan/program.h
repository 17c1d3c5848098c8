// ps-bench plan: what a cluster would do with a job, by the cost model of lib/simulate.  Used by ps-bench.
#ifndef PS_BENCH_PLAN_PROGRAM_H_
#define PS_BENCH_PLAN_PROGRAM_H_

#include "base/log.h"
#include "cli/flags.h"
#include "cli/program.h"

namespace ps {

// A program of its own to the command line: its flags are not those of suites.
Program plan_program();

int run_plan(const Flags& flags, Log& log);

}  // namespace ps

#endif  // PS_BENCH_PLAN_PROGRAM_H_
