// AmongPeers: the common part of all strategies without servers.  It holds the parameters in each trainer's
// process, and the other trainers as the ranks of a communicator.  Used by all_reduce, dgc, power_sgd and
// AveragedCopies.
#ifndef PS_STRATEGY_AMONG_PEERS_H_
#define PS_STRATEGY_AMONG_PEERS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collective/algorithm.h"
#include "collective/communicator.h"
#include "collective/exchange_communicator.h"
#include "store/all_reduce_store.h"
#include "store/collective_group.h"
#include "store/collective_run.h"
#include "strategy/in_process.h"
#include "strategy/peers.h"
#include "strategy/strategy.h"

namespace ps {

// One owner thread, that of the transport.
class AmongPeers : public Strategy {
 public:
  TrainerGroup& group() override { return group_; }
  RunControl& run() override { return run_; }
  LocalStore* local() override { return here_.local(); }
  Communicator* peers() override { return communicator_.get(); }

 protected:
  // `setup` must have peers.  Waits for them, and throws, as meet_peers does.
  AmongPeers(const TrainerSetup& setup, const std::string& algorithm)
      : parameters_(setup.parameters),
        here_(setup),
        order_is_fixed_(algorithm == kAutomatic || all_reduce_algorithm(algorithm).in_rank_order),
        met_(meet_peers(*setup.peer_transport, *setup.peers, algorithm)),
        communicator_(std::move(met_.communicator)),
        sent_before_(bytes_sent_to_all(*communicator_)),
        group_(*communicator_),
        run_(setup.peers->rank, [transport = setup.peer_transport] { transport->loop().poll(); }) {}

  // Returns the counters of a store that would send `whole_bytes` if it exchanged all gradients in every
  // step.
  Json byte_counters(uint64_t whole_bytes) const {
    return {{"bytes_sent", bytes_sent_to_all(*communicator_) - sent_before_}, {"whole_bytes", whole_bytes}};
  }

  // Compressed gradients share an exchange if a device computes the model of some trainer, which has them after backward; but
  // not if the order of sums would depend on it.
  CompressedGroups compressed_groups() const {
    return met_.model_on_device && order_is_fixed_ ? CompressedGroups::kOne : CompressedGroups::kSeveral;
  }

  const std::vector<ParameterSpec> parameters_;
  InProcess here_;
  const bool order_is_fixed_;  // sums run in the order of ranks, or as the library of another adds them
  MetPeers met_;
  const std::unique_ptr<Communicator> communicator_;
  const uint64_t sent_before_;  // bytes sent while the trainers met
  CollectiveGroup group_;
  CollectiveRun run_;
};

// Makes a T from the arguments and the setup.  A trainer alone has all parameters in its process, and
// exchanges nothing.  Throws kUsage if several trainers would have parameters that are not dense.
template <class T, class... Arguments>
std::unique_ptr<Strategy> make_among_peers(const TrainerSetup& setup, const Arguments&... arguments) {
  if (setup.peers == nullptr) return std::make_unique<InProcess>(setup);
  check_all_dense(setup.parameters);
  return std::make_unique<T>(arguments..., setup);
}

}  // namespace ps

#endif  // PS_STRATEGY_AMONG_PEERS_H_
