#include "collective/connection_choice.h"

#include <algorithm>
#include <vector>

#include "base/statistics.h"
#include "collective/link_measure.h"
#include "collective/parts.h"

namespace ps {

namespace {

// Each rank sends so many chunks in all.  A single one to each rank, which a connection sends at once also over a long
// way, tells a link that is not fat: one connection fills it, and what is measured would take long.
constexpr size_t kChunks = 32;
constexpr double kLongestChunk = 0.01;  // seconds beyond those of nothing: some 100 Mbit/s

// The longest time of all chunks over one connection, in seconds: others are not tried if it is longer.
constexpr double kLongestRound = 1;

// Small exchanges are timed together: one that waits for other ranks is often followed by one that does not.
constexpr int kSmallCalls = 8;
constexpr int kTimedRounds = 3;

// Several connections have a cost that this does not measure, so they are used only where they take less than this part
// of the time of fewer.
constexpr double kPays = 0.8;

}  // namespace

// The numbers of connections take turns, so that other load affects all of them alike.  A first exchange over each is not
// counted, since its connections have sent nothing yet.
void choose_connections(ExchangeCommunicator& communicator, NetExchange& exchange, int most) {
  auto mean_seconds = [&](size_t bytes) {
    double sum = 0;
    for (int call = 0; call < kSmallCalls; ++call) sum += communicator.exchange_seconds(1, bytes);
    return sum / kSmallCalls;
  };
  const size_t others = static_cast<size_t>(exchange.size() - 1);
  auto seconds_over = [&](int connections) {
    exchange.use_connections(connections);
    return communicator.exchange_seconds(std::max<size_t>(1, kChunks / others), kChunkBytes);
  };
  exchange.use_connections(1);
  communicator.exchange_seconds(1, kChunkBytes);
  const double nothing = mean_seconds(1);
  // On a long way ranks may be apart by its latency, of which the means have a part.
  const double longest = kLongestChunk * static_cast<double>(others);
  const double late[] = {mean_seconds(kChunkBytes) - nothing - std::max(longest, nothing)};
  if (largest_of_all(communicator, late)[0] > 0) return;
  const double first[] = {seconds_over(1)};
  if (largest_of_all(communicator, first)[0] > kLongestRound) return;
  std::vector<int> tried = {1};
  for (int connections = 2; connections <= most; connections *= 2) {
    tried.push_back(connections);
    seconds_over(connections);
  }
  std::vector<std::vector<double>> rounds(tried.size());
  for (int round = 0; round < kTimedRounds; ++round) {
    for (size_t i = 0; i < tried.size(); ++i) rounds[i].push_back(seconds_over(tried[i]));
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
