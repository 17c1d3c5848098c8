// ps-bench dgc --bandwidth, local-sgd and scaling measure steps that emulate compute and exchange real bytes
// over links of given bandwidths.  Used by cmd/ps-bench.cc.
#ifndef PS_BENCH_LINK_PROGRAM_H_
#define PS_BENCH_LINK_PROGRAM_H_

#include <span>
#include <string_view>

#include "base/log.h"
#include "bench/link/measurements.h"
#include "cli/flags.h"
#include "cli/program.h"

namespace ps {

enum class LinkSuite { kDgc, kLocalSgd, kScaling };

// Returns the suite that a command line asks for, by its words after the program's name: `local-sgd`,
// `scaling`, or `dgc` with --bandwidth.  Without that flag `dgc` is an ordinary suite.
std::optional<LinkSuite> find_link_suite(std::span<const char* const> words);

// Returns the program of a suite.  It is separate from other suites, since its flags are different.
Program link_program(LinkSuite suite);

int run_link_suite(LinkSuite suite, const Flags& flags, Log& log);

}  // namespace ps

#endif  // PS_BENCH_LINK_PROGRAM_H_
