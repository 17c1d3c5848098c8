#include "device/model_store.h"

#include "device/dense_on_device.h"
#include "model/model_device.h"

namespace ps {

// Lends the wanted dense parameters to the device, and leaves out those that the local store cannot lend.
ModelStore::ModelStore(ParameterStore& inner, LocalStore& local, std::span<const ParameterSpec> parameters,
                       const std::vector<bool>& wanted, std::shared_ptr<ModelDevice> kernels, Device& host)
    : StoreInFront(inner), kernels_(std::move(kernels)), device_(host, kernels_) {
  for (size_t p = 0; p < parameters.size(); ++p) {
    const int parameter = static_cast<int>(p);
    if (!wanted[p] || !local.can_lend_dense(parameter)) continue;
    dense_.push_back(std::make_unique<DenseOnDevice>(local, parameter, device_, *kernels_));
    bytes_ += DenseOnDevice::bytes_of(local, parameters[p], parameter);
  }
}

ModelStore::~ModelStore() = default;

void ModelStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                      std::vector<ParameterView<float>>& views) {
  inner().pull(plans, mode, views);
  if (mode == PullMode::kTrain) add_views(views);
}

void ModelStore::finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                             std::vector<ParameterView<float>>& views) {
  inner().finish_pull(ticket, plans, views);
  add_views(views);
}

void ModelStore::add_views(std::vector<ParameterView<float>>& views) {
  for (const auto& dense : dense_) dense->pull(views[static_cast<size_t>(dense->parameter())]);
}

Json ModelStore::counters() const {
  const StartedWork work = kernels_->started_work();
  return {{"dense_parameters", num_there()},
          {"dense_bytes", bytes_there()},
          {"work_started", work.started},
          {"graphs_started", work.graphs},
          {"work_in_graphs", work.in_graphs}};
}

void ModelStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                      const StepInfo& info) {
  inner().push(plans, views, info);
  kernels_->hold_work(BatchPart::kSteps);
  for (const auto& dense : dense_) dense->push();
  kernels_->start_work();
}

}  // namespace ps
