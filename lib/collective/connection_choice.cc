#include "collective/connection_choice.h"

#include <algorithm>
#include <vector>

#include "collective/link_measure.h"

namespace ps {

namespace {

// The time that kProbeBytes take beyond that of a few tells a link that is not fat: one connection fills it, and what is
// measured would take long.
constexpr size_t kFewBytes = 1 << 10, kProbeBytes = size_t{256} << 10, kBytes = size_t{4} << 20;
constexpr double kLongestProbe = 0.02;  // seconds: some 100 Mbit/s

constexpr int kRounds = 3;

// Several connections have a cost that this does not measure, so they are used only where they take less than this part
// of the time of fewer.
constexpr double kPays = 0.8;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

// The numbers of connections take turns, so that other load affects all of them alike.  A first all-reduce over each is
// not counted, since its connections have sent nothing yet.
void choose_connections(ExchangeCommunicator& communicator, NetExchange& exchange, int most) {
  const AllReduceAlgorithm& direct = all_reduce_algorithm("direct");
  std::vector<float> zeros(kBytes / sizeof(float));
  auto seconds_of = [&](size_t bytes) {
    const Time begin = exchange.now();
    communicator.all_reduce_by(direct, std::span(zeros).first(bytes / sizeof(float)));
    return to_seconds(exchange.now() - begin);
  };
  exchange.use_connections(1);
  seconds_of(kProbeBytes);
  const double few = seconds_of(kFewBytes);
  const double probe[] = {seconds_of(kProbeBytes) - few};
  if (largest_of_all(communicator, probe)[0] > kLongestProbe) return;
  std::vector<int> tried;
  for (int connections = 1; connections <= most; connections *= 2) tried.push_back(connections);
  std::vector<std::vector<double>> rounds(tried.size());
  for (int round = 0; round <= kRounds; ++round) {
    for (size_t i = 0; i < tried.size(); ++i) {
      exchange.use_connections(tried[i]);
      const double seconds = seconds_of(kBytes);
      if (round > 0) rounds[i].push_back(seconds);
    }
  }
  std::vector<double> own;
  for (const auto& each : rounds) own.push_back(median(each));
  const std::vector<double> slowest = largest_of_all(communicator, own);
  size_t chosen = 0;
  for (size_t i = 1; i < tried.size(); ++i) {
    if (slowest[i] < kPays * slowest[chosen]) chosen = i;
  }
  exchange.use_connections(tried[chosen]);
}

}  // namespace ps
