// Which instruction set kernels are compiled for, chosen when the program runs: one binary runs on every
// processor, and uses what it finds.
//
// The choice is the one thing of the process that everything shares: --cpu sets it before work begins, and
// kernels, which are called from everywhere, read it.  Kernels of different levels may round differently; the
// same level gives the same bits on every processor that has it.
#ifndef PS_BASE_CPU_H_
#define PS_BASE_CPU_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// In the order of the kernel tables, of which a build has those that share/cmake/Compiler.cmake lists.
enum class CpuLevel { kBaseline, kAvx2, kAvx512 };
inline constexpr CpuLevel kCpuLevels[] = {CpuLevel::kBaseline, CpuLevel::kAvx2, CpuLevel::kAvx512};

// "baseline", "avx2", "avx512", as --cpu has them.
std::string_view cpu_level_name(CpuLevel level);

// What this processor and its operating system offer, of what levels ask for: "avx2", "fma"…
std::vector<std::string_view> cpu_features();

// What `level` needs and `features` lack.
std::vector<std::string_view> lacking_features(CpuLevel level, std::span<const std::string_view> features);

// The levels that `features` allow, the highest last.
std::vector<CpuLevel> possible_levels(std::span<const std::string_view> features);

// The level in use: the highest that this processor has, until it is set.  Any thread.
CpuLevel cpu_level();

// Sets it: before work begins, or between the parts of a test.  Aborts when the processor lacks the level.
void set_cpu_level(CpuLevel level);

// The values of --cpu: "auto" and the names of the levels.
std::vector<std::string> cpu_choices();

// The level that one of these values means where there are `features`.  Throws kUsage, saying what is
// lacking.
CpuLevel find_cpu_level(std::string_view choice, std::span<const std::string_view> features);

// Clears the upper parts of the vector registers, as compilers do at the end of what uses them.  Where a
// library has left something there, code for any processor of the kind has to keep it with every instruction:
// libm's expm1f took five times as long.
void clear_wide_registers();

}  // namespace ps

#endif  // PS_BASE_CPU_H_
