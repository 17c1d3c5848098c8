// The parameters of a trainer without servers, in its own process.  Used by strategies for jobs without
// servers in which a trainer is alone.
#ifndef PS_STRATEGY_IN_PROCESS_H_
#define PS_STRATEGY_IN_PROCESS_H_

#include <memory>
#include <optional>
#include <vector>

#include "device/device_store.h"
#include "device/model_store.h"
#include "strategy/strategy.h"

namespace ps {

// One owner thread.
class InProcess final : public Strategy {
 public:
  explicit InProcess(const TrainerSetup& setup) : InProcess(setup, setup.parameters, setup.optimizers) {}

  // Trains the parameters by these specs and optimizers instead of those of the setup.
  InProcess(const TrainerSetup& setup, const std::vector<ParameterSpec>& specs,
            const OptimizerPlan& optimizers)
      : store_(specs, optimizers, setup.memory_limit, setup.device) {
    if (setup.row_device != nullptr) {
      std::optional<ModelBesideRows> model;
      if (setup.rows_beside_model) model = {setup.model_device, &setup.device, setup.on_devices};
      on_device_ = std::make_unique<DeviceStore>(store_, store_, setup.row_device, *setup.caches,
                                                 /*own_thread=*/true, model);
    }
    const bool alone = setup.peers == nullptr && setup.servers == nullptr;
    if (setup.model_device == nullptr || !setup.trains || !alone) return;
    model_ = std::make_unique<ModelStore>(rows(), store_, setup.parameters, *setup.on_devices,
                                          setup.model_device, setup.device);
  }
  ParameterStore& store() override {
    if (model_) return *model_;
    return rows();
  }
  TrainerGroup& group() override { return group_; }
  RunControl& run() override { return run_; }
  LocalStore* local() override { return &store_; }
  Json counters() const override {
    Json device = on_device_ ? on_device_->counters() : Json::object();
    if (model_) device.update(model_->counters());
    return device.empty() ? device : Json{{"device", device}};
  }

 private:
  ParameterStore& rows() {
    if (on_device_) return *on_device_;
    return store_;
  }

  LocalStore store_;
  std::unique_ptr<DeviceStore> on_device_;  // null: rows are trained on the processor
  std::unique_ptr<ModelStore> model_;       // null: dense parameters are trained on the processor
  LocalGroup group_;
  LocalRun run_;
};

}  // namespace ps

#endif  // PS_STRATEGY_IN_PROCESS_H_
