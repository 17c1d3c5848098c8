#include "model/measure_batch.h"

#include "math/device_kernels.h"

namespace ps {

// Labels and weights of the batch go to the device once, for all evaluators and costs.
static void measure_there(const FiguresThere& figures, const Batch& batch, Evaluator& evaluator) {
  Device& device = *figures.device;
  const Matrix<const float>& predictions = figures.predictions;
  const MeasuredExamples examples{predictions.data, predictions.cols, predictions.cols,
                                  mirror(device, batch.labels.data(), std::ssize(batch.labels)),
                                  mirror(device, batch.weights.data(), std::ssize(batch.weights))};
  evaluator.add_there(device, {examples, predictions.rows, figures.log_losses}, batch);
}

void measure_batch(const BatchFigures& figures, const Batch& batch, Evaluator& evaluator) {
  if (figures.there.device != nullptr && evaluator.runs_there()) {
    measure_there(figures.there, batch, evaluator);
  } else if (!figures.log_losses.empty() && evaluator.wants_log_losses()) {
    evaluator.add_log_losses(figures.log_losses, batch);
  } else {
    evaluator.add(figures.predictions, batch);
  }
}

}  // namespace ps
