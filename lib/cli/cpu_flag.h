// The level of instruction sets that --cpu names.  Used by programs that have this flag.
#ifndef PS_CLI_CPU_FLAG_H_
#define PS_CLI_CPU_FLAG_H_

#include "base/cpu.h"
#include "cli/flags.h"

namespace ps {

// Throws kUsage when this processor does not have the level.
CpuLevel cpu_level(const Flags& flags);

}  // namespace ps

#endif  // PS_CLI_CPU_FLAG_H_
