// The instruction sets that kernels are compiled for, and from which one is chosen when the program runs: one
// binary runs on every processor, and uses the best instructions that it finds.
//
// --cpu chooses the level, and whoever calls kernels passes it on: a device has one (math/device.h), and so do
// optimizers and codecs.  Kernels of different levels may round differently; the same level gives the same
// bits on every processor that has it.
#ifndef PS_BASE_CPU_H_
#define PS_BASE_CPU_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// In the order of the kernel tables.  A build has the tables that share/cmake/Compiler.cmake lists.
enum class CpuLevel { kBaseline, kAvx2, kAvx512 };
inline constexpr CpuLevel kCpuLevels[] = {CpuLevel::kBaseline, CpuLevel::kAvx2, CpuLevel::kAvx512};

// "baseline", "avx2", "avx512", as --cpu has them.
std::string_view cpu_level_name(CpuLevel level);

// Returns the features ("avx2", "fma"…) that some level requires and that this processor and its operating
// system offer.
std::vector<std::string_view> cpu_features();

// The levels that `features` allow, the highest last.
std::vector<CpuLevel> possible_levels(std::span<const std::string_view> features);

// Returns the highest level that this processor has.
CpuLevel best_cpu_level();

// The values of --cpu: "auto" and the names of the levels.
std::vector<std::string> cpu_choices();

// Returns the level that a value of --cpu means on a processor with `features`. Throws kUsage, naming the
// missing features.
CpuLevel find_cpu_level(std::string_view choice, std::span<const std::string_view> features);

// Clears the upper halves of the vector registers, as compilers do at the end of a function that uses them.
// While a library has left values there, every SSE instruction of baseline code must preserve them: libm's
// expm1f took five times as long.
void clear_wide_registers();

}  // namespace ps

#endif  // PS_BASE_CPU_H_
