// ps-bench plan-check: how far the plan is from steps that were measured.  Used by cmd/ps-bench.cc.
#ifndef PS_BENCH_LINK_PLAN_CHECK_PROGRAM_H_
#define PS_BENCH_LINK_PLAN_CHECK_PROGRAM_H_

#include "base/log.h"
#include "cli/flags.h"
#include "cli/program.h"

namespace ps {

// A program of its own to the command line: its flags are not those of other suites.
Program plan_check_program();

int run_plan_check(const Flags& flags, Log& log);

}  // namespace ps

#endif  // PS_BENCH_LINK_PLAN_CHECK_PROGRAM_H_
