#include "collective/choice.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

AllReduceCost fit_cost(const AllReduceAlgorithm& algorithm, double latency_seconds,
                       double bandwidth_seconds) {
  const double slope = (bandwidth_seconds - latency_seconds) / (kBandwidthBytes - kLatencyBytes);
  return {&algorithm, latency_seconds, std::max(slope, 0.0)};
}

std::string encode_costs(const std::vector<AllReduceCost>& costs) {
  std::string out;
  for (const AllReduceCost& cost : costs) put(out, cost.seconds), put(out, cost.seconds_a_byte);
  return out;
}

std::vector<AllReduceCost> slowest_costs(const std::vector<AllReduceCost>& own,
                                         const std::vector<std::string>& gathered) {
  std::vector<AllReduceCost> slowest = own;
  for (const std::string& text : gathered) {
    ByteReader reader(text);
    for (AllReduceCost& cost : slowest) {
      cost.seconds = std::max(cost.seconds, reader.get<double>());
      cost.seconds_a_byte = std::max(cost.seconds_a_byte, reader.get<double>());
    }
    if (!reader.ok() || reader.remaining() != 0) {
      fail(Code::kCorrupt, "a rank's costs of algorithms have ", text.size(), " bytes, expected ",
           encode_costs(own).size());
    }
  }
  return slowest;
}

const AllReduceAlgorithm& cheapest(const std::vector<AllReduceCost>& costs, size_t data_bytes) {
  auto seconds = [&](const AllReduceCost& cost) {
    return cost.seconds + static_cast<double>(data_bytes) * cost.seconds_a_byte;
  };
  return *std::ranges::min_element(costs, {}, seconds)->algorithm;
}

}  // namespace ps
