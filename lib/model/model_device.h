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
  int64_t size;
  float *weights, *state;  // [size], [arrays, size]
  const float* gradient;   // [size]
};

class ModelDevice : public DeviceKernels {
 public:
  // Queues a step of all weights, with gradients that are multiplied by `scale` first.
  virtual void step(const CurrentStep<float>& step, float scale, const DenseArraysThere& arrays) = 0;
};

}  // namespace ps

#endif  // PS_MODEL_MODEL_DEVICE_H_
