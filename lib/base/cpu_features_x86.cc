// The features of x86-64 processors, read by the compiler's own function, which checks CPUID and that the
// operating system saves the wide registers.
#include <immintrin.h>

#include "base/cpu.h"

namespace ps {

std::vector<std::string_view> cpu_features() {
  __builtin_cpu_init();
  std::vector<std::string_view> features;
  auto add = [&](bool there, std::string_view name) {
    if (there) features.push_back(name);
  };
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("bmi"), "bmi");
  add(__builtin_cpu_supports("bmi2"), "bmi2");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  add(__builtin_cpu_supports("avx512bw"), "avx512bw");
  add(__builtin_cpu_supports("avx512dq"), "avx512dq");
  add(__builtin_cpu_supports("avx512vl"), "avx512vl");
  return features;
}

[[gnu::target("avx")]] static void zero_upper() {
  _mm256_zeroupper();
}

void clear_wide_registers() {
  if (__builtin_cpu_supports("avx")) zero_upper();
}

}  // namespace ps
