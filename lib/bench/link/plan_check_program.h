// ps-bench plan-check compares the plan with measured steps.  Used by cmd/ps-bench.cc.
#ifndef PS_BENCH_LINK_PLAN_CHECK_PROGRAM_H_
#define PS_BENCH_LINK_PLAN_CHECK_PROGRAM_H_

#include "base/log.h"
#include "cli/flags.h"
#include "cli/program.h"

namespace ps {

// Returns the program.  It is separate from the suites, since its flags are different.
Program plan_check_program();

int run_plan_check(const Flags& flags, Log& log);

}  // namespace ps

#endif  // PS_BENCH_LINK_PLAN_CHECK_PROGRAM_H_
