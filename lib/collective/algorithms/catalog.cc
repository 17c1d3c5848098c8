#include <array>
#include <string>
#include <vector>

#include "base/error.h"
#include "collective/algorithms/entries.h"

namespace ps {

namespace {

constexpr std::array<const AllReduceAlgorithm*, 6> kCatalog = {
    &kDirectAllReduce, &kChainAllReduce,           &kServerAllReduce,
    &kRingAllReduce,   &kHalvingDoublingAllReduce, &kTreeAllReduce,
};

}  // namespace

std::span<const AllReduceAlgorithm* const> all_reduce_catalog() {
  return kCatalog;
}

const AllReduceAlgorithm& all_reduce_algorithm(std::string_view name) {
  std::vector<std::string> names;
  for (const AllReduceAlgorithm* each : kCatalog) {
    if (each->name == name) return *each;
    names.emplace_back(each->name);
  }
  fail(Code::kUsage, "unknown all-reduce algorithm ", quote(name), did_you_mean(name, names));
}

}  // namespace ps
