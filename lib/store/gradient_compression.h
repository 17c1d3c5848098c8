// GradientCompression: the exchange of some parameters' gradients in fewer bytes, inside a step of AllReduceStore.
// Implemented by DgcExchange, which moves weights itself, and by PowerSgdExchange and CodecExchange, which give sums to
// the optimizer.
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
  // The gradient of one compressed parameter: [rows, cols], the sum over this trainer's examples.  Empty when this trainer
  // has none, of a parameter that lies on a device.
  struct Gradient {
    size_t parameter = 0;
    std::span<float> values;
  };

  virtual ~GradientCompression() = default;

  // True when the step that comes next compresses this parameter: the same on all trainers.
  virtual bool compresses(size_t parameter) const = 0;

  // True: the step moves the weights; false: it replaces gradients by what stands for the sum over all trainers.
  virtual bool moves_weights() const = 0;

  // Sets the views of a pull to train of those parameters that the step compresses in the memory of the device which computes
  // the model; their gradients stay there.
  virtual void show_there(std::span<ParameterView<float>> views) { (void)views; }

  // The store has begun the step: those parameters make it whose gradients have become sums there.
  virtual void push_there() {}

  // Makes the step of all parameters that it compresses; `step` is that of the sum of all trainers' gradients.
  // Throws kData when a gradient is not finite, and what the communicator throws.
  virtual void step(std::span<const Gradient> gradients, const StepSize& step) = 0;
};

}  // namespace ps

#endif  // PS_STORE_GRADIENT_COMPRESSION_H_
