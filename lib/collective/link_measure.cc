#include "collective/link_measure.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/statistics.h"

namespace ps {

namespace {

constexpr size_t kShortMessage = 8, kLongMessage = size_t{1} << 18;

// Returns the median time of an all-to-all exchange of messages of this size.  The first one is not counted,
// since connections have sent nothing yet.
double median_exchange_seconds(Communicator& communicator, size_t bytes) {
  communicator.exchange_seconds(1, bytes);
  std::vector<double> seconds(5);
  for (double& each : seconds) each = communicator.exchange_seconds(1, bytes);
  return median(std::move(seconds));
}

}  // namespace

// Each rank gives its numbers as doubles, one behind the other.  The largest ones are the same on all
// ranks.
std::vector<double> largest_of_all(Communicator& communicator, std::span<const double> own) {
  std::string bytes;
  put_array(bytes, own);
  std::vector<double> largest(own.begin(), own.end()), given(own.size());
  for (const std::string& each : communicator.gather(bytes)) {
    if (each.size() != bytes.size()) {
      fail(Code::kCorrupt, "a trainer has measured ", each.size() / sizeof(double), " costs, expected ",
           own.size());
    }
    ByteReader(each).get_array(std::span(given));
    for (size_t i = 0; i < given.size(); ++i) largest[i] = std::max(largest[i], given[i]);
  }
  return largest;
}

// The time of short messages gives the latency.  The time that long messages take beyond it, divided by the
// further bytes, gives the inverse of the bandwidth.
ClusterParameters measure_links(Communicator& communicator) {
  ClusterParameters cluster{.ranks = communicator.size()};
  if (cluster.ranks == 1) return cluster;
  const double brief = median_exchange_seconds(communicator, kShortMessage);
  const double lengthy = median_exchange_seconds(communicator, kLongMessage);
  const double bytes =
      static_cast<double>(cluster.ranks - 1) * static_cast<double>(kLongMessage - kShortMessage);
  const double own[] = {brief, std::max(lengthy - brief, 0.0) / bytes};
  const std::vector<double> slowest = largest_of_all(communicator, own);
  cluster.latency = slowest[0];
  cluster.bandwidth = slowest[1] > 0 ? 1 / slowest[1] : 0;
  return cluster;
}

}  // namespace ps
