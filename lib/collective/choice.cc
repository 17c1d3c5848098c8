#include "collective/choice.h"

#include <algorithm>
#include <span>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

// The slope is never negative, so that more bytes never take less time, even if they did when measured.
double AllReduceCost::at(size_t data_bytes) const {
  size_t end = 1;
  while (end + 1 < seconds.size() && data_bytes > kCostMeasures[end].bytes) ++end;
  const CostMeasure& first = kCostMeasures[end - 1];
  if (data_bytes <= first.bytes) return seconds[end - 1];
  const double further = static_cast<double>(data_bytes - first.bytes);
  const double slope =
      (seconds[end] - seconds[end - 1]) / static_cast<double>(kCostMeasures[end].bytes - first.bytes);
  return seconds[end - 1] + further * std::max(slope, 0.0);
}

bool is_candidate(const AllReduceAlgorithm& algorithm, int size) {
  // An algorithm is measured if its busiest rank sends at most so many times the data at the largest size
  // of kCostMeasures.
  constexpr double kMostTimes = 16;
  const double largest = static_cast<double>(kCostMeasures.back().bytes);
  return algorithm.in_rank_order && algorithm.most_sent(largest, size) <= kMostTimes * largest;
}

std::string encode_costs(const std::vector<AllReduceCost>& costs) {
  std::string out;
  for (const AllReduceCost& cost : costs) put_array(out, std::span<const double>(cost.seconds));
  return out;
}

// Each text has the seconds of every algorithm in the order of `own`, as encode_costs writes them: doubles
// and nothing else.
std::vector<AllReduceCost> slowest_costs(const std::vector<AllReduceCost>& own,
                                         const std::vector<std::string>& gathered) {
  std::vector<AllReduceCost> slowest = own;
  for (const std::string& text : gathered) {
    ByteReader reader(text);
    for (AllReduceCost& cost : slowest) {
      for (double& seconds : cost.seconds) seconds = std::max(seconds, reader.get<double>());
    }
    if (!reader.ok() || reader.remaining() != 0) {
      fail(Code::kCorrupt, "a rank's costs of algorithms have ", text.size(), " bytes, expected ",
           encode_costs(own).size());
    }
  }
  return slowest;
}

const AllReduceAlgorithm& cheapest(const std::vector<AllReduceCost>& costs, size_t data_bytes) {
  auto seconds = [&](const AllReduceCost& cost) { return cost.at(data_bytes); };
  return *std::ranges::min_element(costs, {}, seconds)->algorithm;
}

}  // namespace ps
