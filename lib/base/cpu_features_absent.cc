// On processors that are not x86-64: kernels are compiled for the baseline alone.
#include "base/cpu.h"

namespace ps {

std::vector<std::string_view> cpu_features() {
  return {};
}

void clear_wide_registers() {}

}  // namespace ps
