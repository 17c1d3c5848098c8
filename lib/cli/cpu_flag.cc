#include "cli/cpu_flag.h"

#include "base/error.h"

namespace ps {

CpuLevel cpu_level(const Flags& flags) {
  try {
    return find_cpu_level(*flags.text("cpu"), cpu_features());
  } catch (const Error& error) {
    throw error.within(flags.typed("cpu"));
  }
}

}  // namespace ps
