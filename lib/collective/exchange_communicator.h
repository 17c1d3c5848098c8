// ExchangeCommunicator: implements collectives by algorithms over an Exchange.  Used to make communicators
// over `net` and between threads, and by benchmarks, which name the algorithm.
#ifndef PS_COLLECTIVE_EXCHANGE_COMMUNICATOR_H_
#define PS_COLLECTIVE_EXCHANGE_COMMUNICATOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collective/algorithm.h"
#include "collective/choice.h"
#include "collective/communicator.h"
#include "collective/exchange.h"

namespace ps {

// The name that stands for the cheapest algorithm among those in rank order.
inline constexpr const char* kAutomatic = "auto";

// One owner thread, as for every Communicator.
class ExchangeCommunicator final : public Communicator {
 public:
  // `algorithm` must be a name of the catalogue or kAutomatic; throws kUsage otherwise.
  ExchangeCommunicator(std::unique_ptr<Exchange> exchange, const std::string& algorithm, Duration timeout);

  int rank() const override { return exchange_->rank(); }
  int size() const override { return exchange_->size(); }

  void all_reduce(Elements data) override;
  using Communicator::reduce_scatter;
  void reduce_scatter(Elements data, std::span<const size_t> counts) override;
  using Communicator::all_gather;
  void all_gather(Elements data, std::span<const size_t> counts) override;
  void broadcast(Elements data, int root) override;
  std::vector<std::string> gather(std::string bytes) override;
  std::vector<std::string> all_to_all(std::vector<std::string> bytes) override;
  double exchange_seconds(size_t num, size_t bytes) override;
  void barrier() override;
  void check_others() override { exchange_->check_others(); }
  bool may_change_threads() const override { return exchange_->may_change_threads(); }
  int connections() const override { return exchange_->connections(); }
  uint64_t bytes_sent(int to) const override { return exchange_->bytes_sent(to); }

  void all_reduce_by(const AllReduceAlgorithm& algorithm, Elements data);

  // Returns the algorithm chosen for this size.  The first call measures, together with all ranks.
  const AllReduceAlgorithm& choose(size_t data_bytes);

 private:
  void call(Collective collective, uint8_t algorithm, const std::function<void()>& body);
  double block_seconds(const AllReduceAlgorithm& algorithm, Elements data, int calls);
  void measure(size_t index, std::vector<AllReduceCost>& costs);

  const std::unique_ptr<Exchange> exchange_;
  const AllReduceAlgorithm* const algorithm_;  // null: automatic
  const Duration timeout_;
  std::vector<AllReduceCost> costs_;  // empty: not measured yet
};

}  // namespace ps

#endif  // PS_COLLECTIVE_EXCHANGE_COMMUNICATOR_H_
