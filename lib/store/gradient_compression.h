// GradientCompression: exchanges some parameters' gradients in fewer bytes, inside a step of AllReduceStore.
// Implemented by DgcExchange, which moves weights itself, and by PowerSgdExchange and CodecExchange, which
// give sums to the optimizer.
#ifndef PS_STORE_GRADIENT_COMPRESSION_H_
#define PS_STORE_GRADIENT_COMPRESSION_H_

#include <cstddef>
#include <span>

#include "optim/parameter.h"
#include "optim/step_rule.h"

namespace ps {

// One owner thread, that of the communicator.  While another thread is in `step`, the owner calls nothing here.
class GradientCompression {
 public:
  // The gradient of one compressed parameter: [rows, cols], the sum over this trainer's examples.  It is
  // empty if the parameter lies on a device and this trainer has no gradient.
  struct Gradient {
    size_t parameter = 0;
    std::span<float> values;
  };

  virtual ~GradientCompression() = default;

  // Returns true if the next step compresses this parameter; all trainers return the same.
  virtual bool compresses(size_t parameter) const = 0;

  // Returns true if the step moves the weights, false if it replaces gradients by an approximation of the sum
  // over all trainers.
  virtual bool moves_weights() const = 0;

  // Sets the views of a pull to train for the parameters that the step compresses in the memory of the device
  // that computes the model; their gradients stay there.
  virtual void bind_there(std::span<ParameterView<float>> views) { (void)views; }

  // Called after the store has begun the step: the parameters whose gradients have become sums on the device
  // make it.
  virtual void push_there() {}

  // Returns true if `step` may run on another thread than its owner's, while backward goes on with other
  // parameters.  Weights are read then, and none may change before end_step.
  virtual bool may_change_threads() const = 0;

  // Exchanges the gradients of some of the parameters that it compresses; the calls of one step have all of
  // them, each once.  All trainers make the same calls in the same order. `step` is that of the sum of all
  // trainers' gradients.  Throws kData if a gradient is not finite, and what the communicator throws.
  virtual void step(std::span<const Gradient> gradients, const StepSize& step) = 0;

  // Called by the owner thread after the last call of a step: moves the weights, if the step moves them.
  virtual void end_step() {}
};

}  // namespace ps

#endif  // PS_STORE_GRADIENT_COMPRESSION_H_
