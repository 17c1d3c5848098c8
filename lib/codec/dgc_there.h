// DgcThere: the arrays of a parameter that Deep Gradient Compression (codec/dgc.h) trains in the memory of a
// device, with the same bits as on the processor.  DgcDevice makes these objects.  Implemented in
// lib/device/cuda, for CUDA and for the emulator.
#ifndef PS_CODEC_DGC_THERE_H_
#define PS_CODEC_DGC_THERE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "codec/selection.h"
#include "codec/sparse_vector.h"

namespace ps {

// One owner thread.  Arrays have `elements` values each.  Calls throw the errors of the device.
class DgcThere {
 public:
  // The constants of a step, as codec/dgc.h has them; `draw` decides the sample.
  struct Step {
    float scale = 1, rate = 0, momentum = 0, l2 = 0;
    bool nesterov = false, factor_masking = true;
    SparseEncoding encoding = SparseEncoding::kRun16;  // values are rounded to its precision
    uint64_t count = 0, draw = 0;
  };

  virtual ~DgcThere() = default;

  // Weights and gradient in the memory of the device.
  virtual float* weights() = 0;
  virtual float* gradient() = 0;

  // Send arrays of the host to the device, and get u and v from it.  An empty array sets zeros.
  virtual void set_weights(std::span<const float> weights) = 0;
  virtual void set_gradient(std::span<const float> gradient) = 0;
  virtual void set_state(std::span<const float> velocity, std::span<const float> residual) = 0;
  virtual void get_state(std::span<float> velocity, std::span<float> residual) = 0;

  // Updates u and v with the gradient, selects the moves to send, and removes these from u and v.  Returns the
  // largest size of a move; if it is kInfiniteSize or more, the arrays must not be used any more.
  virtual uint32_t step(const Step& step, SparseVector& sent) = 0;

  // weights += share moves
  virtual void apply(const SparseVector& moves, float share) = 0;
};

class DgcDevice {
 public:
  virtual ~DgcDevice() = default;

  // Makes the arrays of a parameter.  The device outlives the objects that it makes.  Throws kExhausted.
  virtual std::unique_ptr<DgcThere> make(uint64_t elements, Selection selection) = 0;
};

}  // namespace ps

#endif  // PS_CODEC_DGC_THERE_H_
