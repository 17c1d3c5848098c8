#include "collective/exchange_communicator.h"

#include <utility>

#include "base/error.h"
#include "base/statistics.h"
#include "collective/algorithms/entries.h"

namespace ps {

ExchangeCommunicator::ExchangeCommunicator(std::unique_ptr<Exchange> exchange, const std::string& algorithm,
                                           Duration timeout)
    : exchange_(std::move(exchange)),
      algorithm_(algorithm == kAutomatic ? nullptr : &all_reduce_algorithm(algorithm)),
      timeout_(timeout) {}

// Runs `body` as one collective.  An error of this rank goes to all others, which would otherwise wait for
// it until their timeout.
void ExchangeCommunicator::call(Collective collective, uint8_t algorithm, const std::function<void()>& body) {
  exchange_->begin(collective, algorithm, timeout_);
  try {
    body();
    exchange_->finish();
  } catch (const Error& error) {
    exchange_->abandon(error);
    throw;
  }
}

void ExchangeCommunicator::all_reduce(Elements data) {
  if (size() == 1) return;
  all_reduce_by(algorithm_ != nullptr ? *algorithm_ : choose(data.size_bytes()), data);
}

void ExchangeCommunicator::all_reduce_by(const AllReduceAlgorithm& algorithm, Elements data) {
  if (size() == 1) return;
  call(Collective::kAllReduce, algorithm.number, [&] { algorithm.run(*exchange_, data); });
}

void ExchangeCommunicator::reduce_scatter(Elements data, std::span<const size_t> counts) {
  const std::vector<ElementRange> parts = parts_of_ranks(counts, size(), data.count());
  if (size() == 1) return;
  call(Collective::kReduceScatter, 0, [&] { reduce_scatter_directly(*exchange_, data, parts); });
}

void ExchangeCommunicator::all_gather(Elements data, std::span<const size_t> counts) {
  const std::vector<ElementRange> parts = parts_of_ranks(counts, size(), data.count());
  if (size() == 1) return;
  call(Collective::kAllGather, 0, [&] { all_gather_directly(*exchange_, data, parts); });
}

void ExchangeCommunicator::broadcast(Elements data, int root) {
  PS_CHECK(root >= 0 && root < size());
  if (size() == 1) return;
  call(Collective::kBroadcast, 0, [&] { broadcast_by_tree(*exchange_, data, root); });
}

std::vector<std::string> ExchangeCommunicator::gather(std::string bytes) {
  std::vector<std::string> all(static_cast<size_t>(size()));
  if (size() > 1) {
    call(Collective::kGather, 0, [&] {
      // Each rank sends everything before it receives anything, which cannot deadlock since sending waits
      // for nobody.  It begins with the rank after it, so that no rank is sent to by all others at once.
      for (int i = 1; i < size(); ++i) exchange_->send((rank() + i) % size(), bytes);
      for (int i = 1; i < size(); ++i) {
        const int from = (rank() + i) % size();
        const Buffer got = exchange_->receive_any_size(from);
        all[static_cast<size_t>(from)].assign(got.data(), got.size());
      }
    });
  }
  all[static_cast<size_t>(rank())] = std::move(bytes);
  return all;
}

std::vector<std::string> ExchangeCommunicator::all_to_all(std::vector<std::string> bytes) {
  PS_CHECK(bytes.size() == static_cast<size_t>(size()));
  std::vector<std::string> all(bytes.size());
  if (size() > 1) {
    call(Collective::kAllToAll, 0, [&] {
      for (int i = 1; i < size(); ++i) {
        const int to = (rank() + i) % size();
        exchange_->send(to, bytes[static_cast<size_t>(to)]);
      }
      for (int i = 1; i < size(); ++i) {
        const int from = (rank() + i) % size();
        const Buffer got = exchange_->receive_any_size(from);
        all[static_cast<size_t>(from)].assign(got.data(), got.size());
      }
    });
  }
  all[static_cast<size_t>(rank())] = std::move(bytes[static_cast<size_t>(rank())]);
  return all;
}

// Nobody waits for a sum, and nothing is copied, so that the links alone decide.
double ExchangeCommunicator::exchange_seconds(size_t num, size_t bytes) {
  const std::string zeros(bytes, 0);
  const Time begin = exchange_->now();
  call(Collective::kAllToAll, 0, [&] {
    for (size_t n = 0; n < num; ++n) {
      for (int i = 1; i < size(); ++i) exchange_->send((rank() + i) % size(), zeros);
    }
    for (size_t n = 0; n < num; ++n) {
      for (int i = 1; i < size(); ++i) exchange_->receive_any_size((rank() + i) % size());
    }
  });
  return to_seconds(exchange_->now() - begin);
}

// A dissemination barrier: after step k, a rank knows, directly or through others, that the 2^k ranks below
// it have arrived.
void ExchangeCommunicator::barrier() {
  if (size() == 1) return;
  call(Collective::kBarrier, 0, [&] {
    for (int step = 1; step < size(); step *= 2) {
      exchange_->send((rank() + step) % size(), {});
      exchange_->receive((rank() + size() - step) % size(), 0);
    }
  });
}

// Returns the mean time of a block of calls.
double ExchangeCommunicator::block_seconds(const AllReduceAlgorithm& algorithm, Elements data, int calls) {
  const Time begin = exchange_->now();
  for (int call = 0; call < calls; ++call) all_reduce_by(algorithm, data);
  return to_seconds(exchange_->now() - begin) / calls;
}

// Blocks of the algorithms alternate, so that other load of the machine affects all of them alike.  A first
// pair of calls is not counted, since memory is cold and connections have sent nothing yet.
void ExchangeCommunicator::measure(size_t index, std::vector<AllReduceCost>& costs) {
  const CostMeasure& measure = kCostMeasures[index];
  std::vector<float> zeros(measure.bytes / sizeof(float));
  std::vector<std::vector<double>> blocks(costs.size());
  for (const AllReduceCost& cost : costs) block_seconds(*cost.algorithm, zeros, 2);
  for (int block = 0; block < measure.blocks; ++block) {
    for (size_t i = 0; i < costs.size(); ++i) {
      blocks[i].push_back(block_seconds(*costs[i].algorithm, zeros, measure.calls));
    }
  }
  for (size_t i = 0; i < costs.size(); ++i) costs[i].seconds[index] = median(std::move(blocks[i]));
}

// The first all-reduce measures all candidates.  All ranks do so in the same call, and choose by the same
// costs, those of the slowest rank, so that they agree on the algorithm without further messages.
const AllReduceAlgorithm& ExchangeCommunicator::choose(size_t data_bytes) {
  if (costs_.empty()) {
    std::vector<AllReduceCost> own;
    for (const AllReduceAlgorithm* each : all_reduce_catalog()) {
      if (is_candidate(*each, size())) own.push_back({.algorithm = each, .seconds = {}});
    }
    for (size_t i = 0; i < kCostMeasures.size(); ++i) measure(i, own);
    costs_ = slowest_costs(own, gather(encode_costs(own)));
  }
  return cheapest(costs_, data_bytes);
}

}  // namespace ps
