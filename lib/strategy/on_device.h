// The parameters are on servers, and a device trains the sparse rows of the batches in its memory:
// DeviceStore in front of a RemoteLender.  Used by the strategy parameter_server.
#ifndef PS_STRATEGY_ON_DEVICE_H_
#define PS_STRATEGY_ON_DEVICE_H_

#include <memory>
#include <vector>

#include "device/device_store.h"
#include "ps/client/remote_lender.h"
#include "strategy/with_servers.h"

namespace ps {

// One owner thread.
class OnDevice final : public WithServers {
 public:
  // `setup` must have servers and a device, and be that of a process that trains.
  explicit OnDevice(const TrainerSetup& setup)
      : WithServers(servers_),
        parameters_(setup.parameters),
        servers_(connect_to_servers(setup, {}, {})),
        beside_(1, setup.device.cpu()),
        local_(sparse_parameters(parameters_), setup.optimizers, setup.memory_limit, beside_) {
    if (servers_.run().finished()) return;
    lender_ = std::make_unique<RemoteLender>(parameters_, setup.optimizers, servers_, local_, setup.window);
    store_ = std::make_unique<DeviceStore>(*lender_, *lender_, setup.row_device, *setup.caches);
  }

  // No trainer trains in a run that is finished.
  ParameterStore& store() override { return store_ ? static_cast<ParameterStore&>(*store_) : servers_; }
  Json counters() const override {
    Json counters = WithServers::counters();
    if (!store_) return counters;
    counters["device"] = store_->counters();
    counters["device"]["rows_ahead"] = lender_->rows_ahead();
    return counters;
  }

 private:
  const std::vector<ParameterSpec> parameters_;
  RemoteStore servers_;
  Device beside_;  // for work that is done while the processor computes a batch
  LocalStore local_;
  std::unique_ptr<RemoteLender> lender_;
  std::unique_ptr<DeviceStore> store_;
};

}  // namespace ps

#endif  // PS_STRATEGY_ON_DEVICE_H_
