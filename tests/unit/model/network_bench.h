// A network with weights and gradients of its own, in plain arrays, for tests.
#ifndef PS_TESTS_UNIT_MODEL_NETWORK_BENCH_H_
#define PS_TESTS_UNIT_MODEL_NETWORK_BENCH_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/spec.h"
#include "model/network.h"

namespace ps {

template <class T>
class NetworkBench {
 public:
  NetworkBench(const Json& model, const DataSchema& schema, int threads = 1, uint64_t seed = 1,
               CpuLevel cpu = best_cpu_level())
      : network_(ModelOptions::spec().parse(model, "model"), schema, seed),
        planners_(network_.make_planners()),
        device_(threads, cpu),
        weights_(network_.parameters().size()),
        gradients_(weights_.size()),
        rows_(weights_.size()),
        views_(weights_.size()) {}

  // Makes the batch ready; weights of rows and matrices that have none yet start as normal numbers
  // (statistics: 1).
  void load(const Batch& batch, bool training = true, int64_t step = 0) {
    prepared_.batch = batch;
    prepared_.training = training;
    prepared_.step = step;
    network_.prepare(planners_, prepared_);
    for (size_t p = 0; p < weights_.size(); ++p) place(p);
  }

  // From now on computes on a device with memory of its own.
  void compute_on(std::shared_ptr<DeviceKernels> kernels) {
    there_ = std::make_unique<Device>(device_, std::move(kernels));
    network_.prepare_for_devices();
  }

  double forward() { return network_.forward(prepared_, views_, device()); }
  void backward() { network_.backward(); }

  Network<T>& network() { return network_; }
  const PreparedBatch& prepared() const { return prepared_; }
  std::span<const ParameterView<T>> views() const { return views_; }
  Device& device() { return there_ ? *there_ : device_; }

  // The row of a key of the batch.
  std::span<T> row(size_t p, uint64_t key) { return row_of(weights_[p], p, key); }
  std::span<T> row_gradient(size_t p, uint64_t key) { return row_of(gradients_[p], p, key); }

  // Position of the parameter of this name.
  size_t find(const std::string& name) const {
    const std::vector<ParameterSpec>& specs = network_.parameters();
    auto found =
        std::find_if(specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == name; });
    EXPECT_NE(found, specs.end()) << "no parameter " << name;
    return static_cast<size_t>(found - specs.begin());
  }

  // kRows: in the order of the plan's keys.
  std::vector<T>& weights(size_t p) { return weights_[p]; }
  const std::vector<T>& gradient(size_t p) const { return gradients_[p]; }

 private:
  std::span<T> row_of(std::vector<T>& rows, size_t p, uint64_t key) {
    const std::vector<uint64_t>& keys = prepared_.plans[p].keys;
    size_t cols = static_cast<size_t>(network_.parameters()[p].cols);
    auto n = std::find(keys.begin(), keys.end(), key) - keys.begin();
    EXPECT_LT(static_cast<size_t>(n), keys.size()) << "key " << key << " is not in the batch";
    return {&rows[static_cast<size_t>(n) * cols], cols};
  }

  void place(size_t p) {
    const ParameterSpec& spec = network_.parameters()[p];
    bool by_rows = spec.kind == ParameterKind::kRows;
    size_t rows = by_rows ? prepared_.plans[p].keys.size() : static_cast<size_t>(spec.rows);
    size_t cols = static_cast<size_t>(spec.cols), size = rows * cols;
    Random random(7 + p, 0);
    if (weights_[p].size() != size) {
      weights_[p].resize(size);
      for (T& w : weights_[p]) {
        w = spec.kind == ParameterKind::kStatistic ? T(1) : static_cast<T>(0.4 * random.normal());
      }
    }
    gradients_[p].assign(size, T(12345));  // backward must overwrite it
    rows_[p].clear();
    for (size_t n = 0; by_rows && n < rows; ++n) rows_[p].push_back(&weights_[p][n * cols]);
    views_[p] = by_rows ? ParameterView<T>{.rows = rows_[p].data(), .row_gradients = gradients_[p].data()}
                        : ParameterView<T>{.value = weights_[p].data(), .gradient = gradients_[p].data()};
  }

  Network<T> network_;
  typename Network<T>::Planners planners_;
  Device device_;
  std::unique_ptr<Device> there_;  // null: the processor
  PreparedBatch prepared_;
  std::vector<std::vector<T>> weights_, gradients_;
  std::vector<std::vector<T*>> rows_;
  std::vector<ParameterView<T>> views_;
};

}  // namespace ps

#endif  // PS_TESTS_UNIT_MODEL_NETWORK_BENCH_H_
