#include "collective/net_communicator.h"

#include <utility>

#include "base/error.h"
#include "collective/connection_choice.h"
#include "collective/net/net_exchange.h"
#include "collective/net/rendezvous.h"

namespace ps {

std::unique_ptr<ExchangeCommunicator> make_net_communicator(Transport& transport,
                                                            const NetCommunicatorOptions& options) {
  if (options.size < 1 || options.size > kMaxRanks || options.rank < 0 || options.rank >= options.size) {
    fail(Code::kUsage, "rank ", options.rank, " of ", options.size, ", expected one below a size of at most ",
         kMaxRanks);
  }
  PS_CHECK(options.connections == kMeasuredConnections ||
           (options.connections >= 1 && options.connections <= kMostConnections));
  auto pool = std::make_unique<BufferPool>();
  std::vector<std::unique_ptr<RankLanes>> links = meet(transport, *pool, options);
  auto exchange = std::make_unique<NetExchange>(transport.loop(), std::move(pool), options.rank,
                                                std::move(links), options.patient, options.stop);
  NetExchange& links_of = *exchange;
  auto communicator =
      std::make_unique<ExchangeCommunicator>(std::move(exchange), options.algorithm, options.timeout);
  const int opened = num_opened(options);
  if (options.measures_connections() && options.size > 1 && opened > 1) {
    choose_connections(*communicator, links_of, opened);
    links_of.forget_bytes_sent();  // a caller counts those of its own collectives
  }
  return communicator;
}

}  // namespace ps
