#include "data/synth/zipf.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace ps {

constexpr uint64_t kRangeGrowth = 64;

ZipfLaw::ZipfLaw(uint64_t num_ranks, double exponent) : num_ranks_(num_ranks), exponent_(exponent) {
  PS_CHECK(num_ranks > 0 && num_ranks <= uint64_t{1} << 48 && exponent >= 0);
  // The mass of a range is width times its law at the first rank, the largest one, so that the steps lie
  // over the law everywhere.  The column of a rank below kSingleRanks is the rank itself; the columns
  // behind them are ranges_ 1, 2, ….
  auto law = [&](uint64_t rank) { return std::pow(static_cast<double>(rank + 1), -exponent); };
  std::vector<double> mass;
  ranges_.push_back({.first = 0, .width = 0, .surely_kept = 1});
  uint64_t first = 0;
  for (; first < std::min(num_ranks, kSingleRanks); ++first) mass.push_back(law(first));
  for (uint64_t width; first < num_ranks; first += width) {
    width = std::min(first / kRangeGrowth, num_ranks - first);
    // The probability is kept just below 1, so that the product stays below 2^64.
    double sure = std::min(law(first + width - 1) / law(first), 0.9999);
    ranges_.push_back({first, width, static_cast<uint64_t>(sure * 0x1p64)});
    mass.push_back(static_cast<double>(width) * law(first));
  }
  table_ = AliasTable(mass);
}

bool ZipfLaw::kept(const Range& range, uint64_t rank, uint64_t fraction) const {
  double ratio = static_cast<double>(rank + 1) / static_cast<double>(range.first + 1);
  return static_cast<double>(fraction) * 0x1p-64 < std::pow(ratio, -exponent_);
}

}  // namespace ps
