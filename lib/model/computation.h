// Computation: forward and backward of the batches of training, where another process does them.  Implemented by
// heter/compute_link.h, used by the training loop.
#ifndef PS_MODEL_COMPUTATION_H_
#define PS_MODEL_COMPUTATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "math/device.h"
#include "math/matrix.h"
#include "model/prepared_batch.h"
#include "optim/parameter.h"

namespace ps {

// Called during backward with the number of each parameter whose gradient is final: nothing adds to it any more.
using OnFinalGradient = std::function<void(size_t parameter)>;

// backward sets the gradients of parameters to those of its batch, or adds these to what another
// batch of the same rows has left.
enum class Gradients { kSet, kAdd };

// Predictions of a batch on the device with memory of its own that has computed them, until its next batch.
struct FiguresThere {
  Device* device = nullptr;           // null: there are none
  Matrix<const float> predictions;    // [B, C]
  const float* log_losses = nullptr;  // [B], or null
};

// The figures of a batch, which are in the memory of whoever has computed them.
struct BatchFigures {
  std::span<const double> task_costs;  // sums of the costs of each task of the network
  Matrix<const float> predictions;     // [B, C]
  std::span<const float> log_losses;   // [B] as Network::log_losses returns them, or empty
  FiguresThere there = {};
};

// The readers of a batch's figures.  On a device with memory of its own, the evaluators that run there read predictions and
// log losses where they are; these come to the processor if another reader asks, or if an evaluator runs here.
enum class FiguresFor { kAll, kEvaluators };

struct FigureSizes {
  int64_t prediction_cols = 1;  // columns of the predictions
  int64_t tasks = 1;            // of the network
};

// One owner thread.
class Computation {
 public:
  virtual ~Computation() = default;

  // Announces a batch that is trained some batches later, after those that were announced before; it stays
  // valid until then.  Called as often as look_ahead of the store.
  virtual void expect_batch(const PreparedBatch& prepared) { (void)prepared; }

  // Returns the sum of the costs of the batch, and sets the gradients of that sum in `views`, which have the rows of
  // the batch's plans and nothing else.
  virtual double run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) = 0;

  // Called after each run with the same views: sets the gradients that run has not set.
  virtual void finish_gradients(const PreparedBatch& prepared, std::span<const ParameterView<float>> views,
                                const OnFinalGradient& on_final) {
    (void)prepared, (void)views, (void)on_final;
  }

  // Returns the sums of the costs of each task in the last batch, which are together what run has returned.
  virtual std::span<const double> task_costs() const = 0;

  // Returns the predictions of the last batch: [B, C].
  virtual Matrix<const float> predictions() const = 0;

  // Returns the log losses of the last batch, as Network::log_losses does: [B], or empty.
  virtual std::span<const float> log_losses() const { return {}; }

  BatchFigures figures() const { return {task_costs(), predictions(), log_losses(), {}}; }
};

}  // namespace ps

#endif  // PS_MODEL_COMPUTATION_H_
