// ModelStore: the parameters of another store, whose dense parameters are trained in the memory of the device
// that computes the model.  Results are those of the other store, bit for bit, given the same gradients.  Used
// by jobs.
#ifndef PS_DEVICE_MODEL_STORE_H_
#define PS_DEVICE_MODEL_STORE_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "config/json.h"
#include "math/device.h"
#include "store/local_store.h"
#include "store/store_in_front.h"

namespace ps {

class DenseOnDevice;
class ModelDevice;

// One owner thread.  The local store makes the parameters put back the weights that it needs for models.
class ModelStore final : public StoreInFront {
 public:
  // `inner` is `local` or a store in front of it, in which nothing was trained yet.  Both outlive this one, as
  // `host` does.  The parameters that `wanted` marks go to the device if they can; a parameter with clipping by
  // norm stays in the local store.
  ModelStore(ParameterStore& inner, LocalStore& local, std::span<const ParameterSpec> parameters,
             const std::vector<bool>& wanted, std::shared_ptr<ModelDevice> kernels, Device& host);
  ~ModelStore() override;

  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  PullTicket begin_pull(std::span<const KeyPlan> plans) override { return inner().begin_pull(plans); }
  void finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                   std::vector<ParameterView<float>>& views) override;
  size_t looks_ahead() const override { return inner().looks_ahead(); }
  void look_ahead(std::span<const KeyPlan> plans) override { inner().look_ahead(plans); }
  void end_looking_ahead() override { inner().end_looking_ahead(); }
  void run_beside(const std::function<void()>& compute) override { inner().run_beside(compute); }
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;

  // The number of parameters on the device, and the bytes that they take there. counters returns both, and the
  // counts of StartedWork, as {"dense_parameters": ..., "dense_bytes": ..., "work_started": ...}.
  size_t num_there() const { return dense_.size(); }
  uint64_t bytes_there() const { return bytes_; }
  Json counters() const;

 private:
  void add_views(std::vector<ParameterView<float>>& views);

  const std::shared_ptr<ModelDevice> kernels_;
  Device device_;
  std::vector<std::unique_ptr<DenseOnDevice>> dense_;
  uint64_t bytes_ = 0;
};

}  // namespace ps

#endif  // PS_DEVICE_MODEL_STORE_H_
