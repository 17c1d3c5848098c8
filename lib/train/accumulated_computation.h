// AccumulatedComputation: forward and backward of a batch, a few of its examples at a time, whose gradients are added up.
// Activations then take the memory of those few.  Used by jobs with train.accumulate.
#ifndef PS_TRAIN_ACCUMULATED_COMPUTATION_H_
#define PS_TRAIN_ACCUMULATED_COMPUTATION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "math/device.h"
#include "model/computation.h"
#include "model/network.h"

namespace ps {

// One owner thread; network and device outlive this.
class AccumulatedComputation final : public Computation {
 public:
  // `parts` batches of so many examples make a step; the last step of a pass may have fewer.
  AccumulatedComputation(Network<float>& network, Device& device, int64_t parts, int64_t examples)
      : network_(network), device_(device), most_parts_(parts), examples_(examples) {}

  // Forward and backward of all parts but the last, and its forward.
  double run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) override;

  // Backward of the last part.
  void finish_gradients(const PreparedBatch& prepared, std::span<const ParameterView<float>> views,
                        const OnFinalGradient& on_final) override;

  Matrix<const float> predictions() const override;
  std::span<const float> log_losses() const override { return log_losses_; }

 private:
  void cut(const PreparedBatch& prepared);
  double forward(size_t part, std::span<const ParameterView<float>> views);

  Network<float>& network_;
  Device& device_;
  const int64_t most_parts_, examples_;
  std::vector<PreparedBatch> parts_;  // of the present batch
  std::vector<float> predictions_, log_losses_;
};

}  // namespace ps

#endif  // PS_TRAIN_ACCUMULATED_COMPUTATION_H_
