// ServerStep: a step that pushes its gradients to servers and pulls its weights from them.  Used by
// plan_check.h.
#ifndef PS_BENCH_LINK_SERVER_STEP_H_
#define PS_BENCH_LINK_SERVER_STEP_H_

#include <cstdint>
#include <vector>

#include "bench/link/link_servers.h"
#include "bench/link/steps.h"
#include "net/transport.h"
#include "ps/client/remote_store.h"

namespace ps {

// A step of one trainer of the servers.  One owner thread, which is the rank's.
class ServerStep final : public LinkStep {
 public:
  // `network` is the transport of the communicator.  All arguments outlive this.
  ServerStep(ExchangeCommunicator& communicator, Transport& network, const LinkServers& servers,
             const ModelShape& model, double compute_seconds);

  // Waits until all ranks end, since a server would wait for one that has gone.
  ~ServerStep() override;

  void run() override;
  uint64_t count_wrong() override;
  double expected_bytes() const override { return 4 * static_cast<double>(gradient_.size()); }

 private:
  void pull();

  ExchangeCommunicator& communicator_;
  EmulatedAccelerator accelerator_;
  RemoteStore store_;
  const std::vector<ParameterSpec>& parameters_;
  const std::vector<KeyPlan> plans_;  // empty plans, since no parameter is pulled by keys
  std::vector<ParameterView<float>> views_;
  std::vector<float> gradient_;  // the gradients of all parameters, one after the other
};

}  // namespace ps

#endif  // PS_BENCH_LINK_SERVER_STEP_H_
