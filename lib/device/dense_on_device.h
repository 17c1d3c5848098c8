// DenseOnDevice: a dense parameter of a LocalStore in the memory of a device, which trains it there: weights, the state of
// their optimizer, and their gradient.  Used by ModelStore.
#ifndef PS_DEVICE_DENSE_ON_DEVICE_H_
#define PS_DEVICE_DENSE_ON_DEVICE_H_

#include <vector>

#include "math/device_buffer.h"
#include "model/model_device.h"
#include "store/local_store.h"
#include "store/row_lender.h"

namespace ps {

// The parameter moves to the device at the first pull, and comes back when the store needs it.  One owner thread.
class DenseOnDevice final : public RowBorrower {
 public:
  // `store`, which must be able to lend the parameter, and `device` outlive it.
  DenseOnDevice(LocalStore& store, int parameter, Device& device, ModelDevice& kernels);

  // The bytes that it takes on the device.
  static uint64_t bytes_of(const LocalStore& store, const ParameterSpec& spec, int parameter);

  int parameter() const { return parameter_; }

  // view <- the weights and the room for their gradient.
  void pull(ParameterView<float>& view);

  // Applies the step that the store has begun, with the gradient.
  void push();

  void put_back() override;
  void return_all() override;

 private:
  LocalStore& store_;
  const int parameter_;
  Device& device_;
  ModelDevice& kernels_;
  DeviceBuffer<float> stored_, gradient_;  // [1 + arrays, size], weights first; [size]
  std::vector<float> floats_;              // what moves
  int64_t size_ = 0;
  bool is_there_ = false, changed_ = false;
};

}  // namespace ps

#endif  // PS_DEVICE_DENSE_ON_DEVICE_H_
