// The features of processors that are not x86-64: none, since kernels are compiled for the baseline alone
// there.
#include "base/cpu.h"

namespace ps {

std::vector<std::string_view> cpu_features() {
  return {};
}

void clear_wide_registers() {}

}  // namespace ps
