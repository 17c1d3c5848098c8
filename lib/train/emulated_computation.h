// EmulatedComputation: forward and backward as a wait, for measuring what trainers exchange on machines that lack the
// accelerators which would compute.  Used by jobs with train.emulated_compute.
#ifndef PS_TRAIN_EMULATED_COMPUTATION_H_
#define PS_TRAIN_EMULATED_COMPUTATION_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "model/computation.h"

namespace ps {

// One owner thread, which waits as it would for a device, and uses no processor meanwhile.
class EmulatedComputation final : public Computation {
 public:
  // Each batch takes `seconds`: a third of it is forward, the rest backward.  `specs` must outlive this; predictions
  // have so many columns.
  EmulatedComputation(double seconds, std::span<const ParameterSpec> specs, int64_t prediction_cols);

  // Forward.  The cost is 0.
  double run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) override;

  // Backward, which gives gradients evenly, those of the last parameter first.  They are noise of the batch's number in
  // [-0.001, 0.001), so that codecs and sparse selections have values to work on; statistics stay as they are.
  void finish_gradients(const PreparedBatch& prepared, std::span<const ParameterView<float>> views,
                        const OnFinalGradient& on_final) override;

  Matrix<const float> predictions() const override;

 private:
  size_t num_values(const PreparedBatch& prepared, size_t parameter) const;
  void fill(float* gradient, size_t count, size_t next) const;

  const double seconds_;
  const std::span<const ParameterSpec> specs_;
  const int64_t prediction_cols_;
  std::vector<float> noise_;
  std::chrono::steady_clock::time_point end_;  // of the batch
  std::vector<float> predictions_;             // zeros
};

}  // namespace ps

#endif  // PS_TRAIN_EMULATED_COMPUTATION_H_
