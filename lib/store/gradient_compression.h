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

// One owner thread, that of the communicator.
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

  // Makes the step of all parameters that it compresses; `step` is that of the sum of all trainers'
  // gradients.  Throws kData if a gradient is not finite, and what the communicator throws.
  virtual void step(std::span<const Gradient> gradients, const StepSize& step) = 0;
};

}  // namespace ps

#endif  // PS_STORE_GRADIENT_COMPRESSION_H_
