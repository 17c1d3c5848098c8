// AccumulatedComputation: forward and backward of a batch, in parts of a few examples whose gradients are
// added.  Activations then take only the memory of one part.  Used by jobs with train.accumulate.
#ifndef PS_TRAIN_ACCUMULATED_COMPUTATION_H_
#define PS_TRAIN_ACCUMULATED_COMPUTATION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "math/device.h"
#include "model/computation.h"
#include "model/network.h"

namespace ps {

// One owner thread.  Network and device outlive this.
class AccumulatedComputation final : public Computation {
 public:
  // A step is made of `parts` batches of `examples` examples; the last step of a pass may have fewer parts.
  AccumulatedComputation(Network<float>& network, Device& device, int64_t parts, int64_t examples)
      : network_(network), device_(device), most_parts_(parts), examples_(examples) {}

  // Runs forward and backward of all parts but the last, and forward of the last.
  double run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) override;

  // Runs backward of the last part.
  void finish_gradients(const PreparedBatch& prepared, std::span<const ParameterView<float>> views,
                        const OnFinalGradient& on_final) override;

  std::span<const double> task_costs() const override { return task_costs_; }
  Matrix<const float> predictions() const override;
  std::span<const float> log_losses() const override { return log_losses_; }

 private:
  void cut(const PreparedBatch& prepared);
  double forward(size_t part, std::span<const ParameterView<float>> views);

  Network<float>& network_;
  Device& device_;
  const int64_t most_parts_, examples_;
  std::vector<PreparedBatch> parts_;  // parts of the current batch
  std::vector<double> task_costs_;
  std::vector<float> predictions_, log_losses_;
};

}  // namespace ps

#endif  // PS_TRAIN_ACCUMULATED_COMPUTATION_H_
