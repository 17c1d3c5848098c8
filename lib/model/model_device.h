// ModelDevice: a device with memory of its own on which models are trained: the kernels of layers, and the steps of
// optimizers.  Implemented in lib/model/cuda, for CUDA and for the emulator.
#ifndef PS_MODEL_MODEL_DEVICE_H_
#define PS_MODEL_MODEL_DEVICE_H_

#include <cstdint>

#include "math/device_kernels.h"
#include "optim/current_step.h"

namespace ps {

// Arrays of a dense parameter on the device.
struct DenseArraysThere {
  int64_t size, cols;
  float *weights, *state;  // [size], [arrays, size]
  float* mean;             // [size], the last array of the state if the optimizer averages weights; else null
  const float* gradient;   // [size]
};

// Counts of the work that was held back (DeviceKernels::hold_work).
struct StartedWork {
  uint64_t started = 0;    // number of times that held work, of more than one piece, was started
  uint64_t graphs = 0;     // number of times of these that a graph was
  uint64_t in_graphs = 0;  // pieces of work in these: kernels, copies and products
};

class ModelDevice : public DeviceKernels {
 public:
  virtual StartedWork started_work() const = 0;

  // Queues a step of all weights, with gradients that are multiplied by `scale` first; the mean then takes in the
  // new weights, if the step says so.
  virtual void step(const CurrentStep<float>& step, float scale, const DenseArraysThere& arrays) = 0;
};

}  // namespace ps

#endif  // PS_MODEL_MODEL_DEVICE_H_
