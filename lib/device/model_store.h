// ModelStore: the parameters of another store, whose dense ones are trained in the memory of the device that computes the
// model.  Results are those of the other store, bit for bit, given the same gradients.
#ifndef PS_DEVICE_MODEL_STORE_H_
#define PS_DEVICE_MODEL_STORE_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "config/json.h"
#include "math/device.h"
#include "store/local_store.h"
#include "store/parameter_store.h"

namespace ps {

class DenseOnDevice;
class ModelDevice;

class ModelStore final : public ParameterStore {
 public:
  // `inner` is `local` or a store in front of it, in which nothing was trained yet; both outlive this one, as `host` does.
  // The parameters that `wanted` marks go to the device if they can: clipping by norm and averages of weights keep one
  // where it is.
  ModelStore(ParameterStore& inner, LocalStore& local, std::span<const ParameterSpec> parameters,
             const std::vector<bool>& wanted, std::shared_ptr<ModelDevice> kernels, Device& host);
  ~ModelStore() override;

  KeyOrder key_order() const override { return inner_.key_order(); }
  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  PullTicket begin_pull(std::span<const KeyPlan> plans) override { return inner_.begin_pull(plans); }
  void finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                   std::vector<ParameterView<float>>& views) override;
  size_t looks_ahead() const override { return inner_.looks_ahead(); }
  void look_ahead(std::span<const KeyPlan> plans) override { inner_.look_ahead(plans); }
  void run_beside(const std::function<void()>& compute) override { inner_.run_beside(compute); }
  bool may_wait() const override { return inner_.may_wait(); }
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  double learning_rate() const override { return inner_.learning_rate(); }
  void end_pass(int64_t pass) override { inner_.end_pass(pass); }

  // The local store has what was trained put back that it needs.
  std::vector<uint64_t> keys(int parameter) override { return inner_.keys(parameter); }
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override {
    inner_.read_rows(parameter, keys, weights);
  }
  void read_all(int parameter, float* weights) override { inner_.read_all(parameter, weights); }
  StoreTimes times() const override { return inner_.times(); }
  RowReport row_report(int parameter) override { return inner_.row_report(parameter); }
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override {
    inner_.load_rows(parameter, keys, weights);
  }
  void load_all(int parameter, const float* weights) override { inner_.load_all(parameter, weights); }

  // The parameters on the device, and the bytes that they take there; as {"dense_parameters": ..., "dense_bytes": ...}.
  size_t num_there() const { return dense_.size(); }
  uint64_t bytes_there() const { return bytes_; }
  Json counters() const { return {{"dense_parameters", num_there()}, {"dense_bytes", bytes_there()}}; }

 private:
  void add_views(std::vector<ParameterView<float>>& views);

  ParameterStore& inner_;
  const std::shared_ptr<ModelDevice> kernels_;
  Device device_;
  std::vector<std::unique_ptr<DenseOnDevice>> dense_;
  uint64_t bytes_ = 0;
};

}  // namespace ps

#endif  // PS_DEVICE_MODEL_STORE_H_
