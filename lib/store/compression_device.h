// CompressionDevice: the device that computes the model, for exchanges that compress the gradients which it
// makes in its memory.  Used by AllReduceStore and its exchanges; implemented in lib/device.
#ifndef PS_STORE_COMPRESSION_DEVICE_H_
#define PS_STORE_COMPRESSION_DEVICE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "codec/codec_there.h"
#include "optim/parameter.h"
#include "store/local_store.h"

namespace ps {

// A dense parameter of a LocalStore that is trained in the memory of a device: its weights, the state of its
// optimizer and its gradient.  It moves there at the first pull, and comes back when the store needs it.  One
// owner thread.
class DenseThere {
 public:
  virtual ~DenseThere() = default;

  // view <- the weights and the room for their gradient, in the memory of the device.
  virtual void pull(ParameterView<float>& view) = 0;

  // set_gradient sends a gradient from the host to the device; get_gradient brings that of the device to the
  // host.  Both come after a pull.
  virtual void set_gradient(std::span<const float> values) = 0;
  virtual void get_gradient(std::span<float> values) = 0;

  // Applies the step that the store has begun, with the gradient.
  virtual void push() = 0;
};

// Returns the gradient [size] of a parameter in the memory of its device: `values`, which may lie there
// already.  If this trainer has no gradient, returns one that changes no sum.
inline std::span<float> gradient_there(DenseThere& there, std::span<const float> values, size_t size) {
  constexpr float kNeutral = -0.0f;
  ParameterView<float> view;
  there.pull(view);
  if (values.empty()) {
    there.set_gradient(std::vector<float>(size, kNeutral));
  } else if (values.data() != view.gradient) {
    there.set_gradient(values);
  }
  return {view.gradient, size};
}

// One owner thread.  Outlives the objects that it makes.
class CompressionDevice {
 public:
  virtual ~CompressionDevice() = default;
  virtual CodecDevice& codecs() = 0;

  // Makes the dense parameter on the device.  `store` must be able to lend it, and outlives it.
  virtual std::unique_ptr<DenseThere> make_dense(LocalStore& store, int parameter) = 0;
};

}  // namespace ps

#endif  // PS_STORE_COMPRESSION_DEVICE_H_
