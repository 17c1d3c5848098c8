// EmulatedComputation: forward and backward as a wait.  It serves to measure the exchanges of trainers on
// machines without the accelerators that would compute.  Used by jobs with train.emulated_compute.
#ifndef PS_TRAIN_EMULATED_COMPUTATION_H_
#define PS_TRAIN_EMULATED_COMPUTATION_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "model/computation.h"

namespace ps {

// One owner thread, which waits as it would for a device, and uses no processor time meanwhile.
class EmulatedComputation final : public Computation {
 public:
  // Each batch takes `seconds`: forward a third of it, backward the rest.  `specs` must outlive this.
  EmulatedComputation(double seconds, std::span<const ParameterSpec> specs, const FigureSizes& sizes);

  // Waits for the time of forward, and returns the cost 0.
  double run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) override;

  // Waits for the time of backward, and gives gradients at even intervals, that of the last parameter first.
  // They are noise in [-0.001, 0.001] that depends on the batch's number, so that codecs and sparse selections
  // have values to work on.  Statistics do not change.
  void finish_gradients(const PreparedBatch& prepared, std::span<const ParameterView<float>> views,
                        const OnFinalGradient& on_final) override;

  std::span<const double> task_costs() const override { return task_costs_; }
  Matrix<const float> predictions() const override;

 private:
  size_t num_values(const PreparedBatch& prepared, size_t parameter) const;
  void fill(float* gradient, size_t count, size_t next) const;

  const double seconds_;
  const std::span<const ParameterSpec> specs_;
  const int64_t prediction_cols_;
  std::vector<float> noise_;
  std::chrono::steady_clock::time_point end_;  // end of the batch
  std::vector<float> predictions_;             // zeros
  const std::vector<double> task_costs_;       // zeros
};

}  // namespace ps

#endif  // PS_TRAIN_EMULATED_COMPUTATION_H_
