// The parameters on servers, and the sparse rows of the batches in the memory of a device, which trains them: DeviceStore in
// front of a RemoteLender.  Used by the strategy parameter_server.
#ifndef PS_STRATEGY_ON_DEVICE_H_
#define PS_STRATEGY_ON_DEVICE_H_

#include <memory>
#include <vector>

#include "device/device_store.h"
#include "ps/client/remote_lender.h"
#include "strategy/on_servers.h"

namespace ps {

class OnDevice final : public Strategy {
 public:
  // `setup` has servers and a device, and is of a process that trains.
  explicit OnDevice(const TrainerSetup& setup)
      : parameters_(setup.parameters),
        servers_(setup, {}, {}),
        beside_(1, setup.device.cpu()),
        local_(sparse_parameters(parameters_), setup.optimizers, setup.memory_limit, beside_) {
    if (servers_.run().finished()) return;
    lender_ = std::make_unique<RemoteLender>(parameters_, setup.optimizers, servers_.remote(), local_,
                                             setup.window);
    store_ = std::make_unique<DeviceStore>(*lender_, *lender_, setup.row_device, *setup.caches);
  }

  // Nobody trains in a run that is finished.
  ParameterStore& store() override {
    return store_ ? static_cast<ParameterStore&>(*store_) : servers_.store();
  }
  TrainerGroup& group() override { return servers_.group(); }
  RunControl& run() override { return servers_.run(); }
  void settle(double seconds) override { servers_.settle(seconds); }
  std::string_view first_cpu() const override { return servers_.first_cpu(); }
  Json counters() const override {
    Json counters = servers_.counters();
    if (!store_) return counters;
    counters["device"] = store_->counters();
    counters["device"]["rows_ahead"] = lender_->rows_ahead();
    return counters;
  }

 private:
  const std::vector<ParameterSpec> parameters_;
  OnServers servers_;
  Device beside_;  // for what is done while the processor computes a batch
  LocalStore local_;
  std::unique_ptr<RemoteLender> lender_;
  std::unique_ptr<DeviceStore> store_;
};

}  // namespace ps

#endif  // PS_STRATEGY_ON_DEVICE_H_
