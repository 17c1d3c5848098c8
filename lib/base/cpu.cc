#include "base/cpu.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ps {

namespace {

// The processor features that the compiler's flags for a level require (share/cmake/Compiler.cmake).  Each
// level requires those of the lower levels too.
constexpr std::string_view kNeeds[] = {"avx2",    "fma",      "bmi",      "bmi2",
                                       "avx512f", "avx512bw", "avx512dq", "avx512vl"};

std::span<const std::string_view> needs(CpuLevel level) {
  constexpr size_t kCount[] = {0, 4, 8};
  return std::span(kNeeds).first(kCount[static_cast<size_t>(level)]);
}

// Returns the features that `level` requires and that `features` does not contain.
std::vector<std::string_view> lacking_features(CpuLevel level, std::span<const std::string_view> features) {
  std::vector<std::string_view> lacking;
  for (std::string_view need : needs(level)) {
    if (std::find(features.begin(), features.end(), need) == features.end()) lacking.push_back(need);
  }
  return lacking;
}

}  // namespace

std::string_view cpu_level_name(CpuLevel level) {
  constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512"};
  return kNames[static_cast<size_t>(level)];
}

std::vector<CpuLevel> possible_levels(std::span<const std::string_view> features) {
  std::vector<CpuLevel> possible;
  for (CpuLevel level : kCpuLevels) {
    if (lacking_features(level, features).empty()) possible.push_back(level);
  }
  return possible;
}

CpuLevel best_cpu_level() {
  static const CpuLevel best = possible_levels(cpu_features()).back();
  return best;
}

std::vector<std::string> cpu_choices() {
  std::vector<std::string> choices = {"auto"};
  for (CpuLevel level : kCpuLevels) choices.emplace_back(cpu_level_name(level));
  return choices;
}

CpuLevel find_cpu_level(std::string_view choice, std::span<const std::string_view> features) {
  const CpuLevel best = possible_levels(features).back();
  if (choice == "auto") return best;
  for (CpuLevel level : kCpuLevels) {
    if (choice != cpu_level_name(level)) continue;
    // The message names the features that are missing, and the best level instead.
    const std::vector<std::string_view> lacking = lacking_features(level, features);
    if (lacking.empty()) return level;
    std::string list;
    for (std::string_view feature : lacking) list += cat(list.empty() ? "" : ", ", feature);
    fail(Code::kUsage, quote(choice), " needs ", list, ", which this processor lacks; it can do ",
         cpu_level_name(best));
  }
  fail(Code::kUsage, "unknown level ", quote(choice));
}

}  // namespace ps
