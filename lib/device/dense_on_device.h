// DenseOnDevice: a dense parameter of a LocalStore in the memory of a device, which trains it there: weights, the state of
// their optimizer, and their gradient.  Used by ModelStore, and by exchanges that encode gradients there.
#ifndef PS_DEVICE_DENSE_ON_DEVICE_H_
#define PS_DEVICE_DENSE_ON_DEVICE_H_

#include <span>
#include <vector>

#include "math/device_buffer.h"
#include "model/model_device.h"
#include "store/compression_device.h"
#include "store/local_store.h"
#include "store/row_lender.h"

namespace ps {

// One owner thread.
class DenseOnDevice final : public DenseThere, public RowBorrower {
 public:
  // `store`, which must be able to lend the parameter, and `device` outlive it.
  DenseOnDevice(LocalStore& store, int parameter, Device& device, ModelDevice& kernels);

  // The bytes that it takes on the device.
  static uint64_t bytes_of(const LocalStore& store, const ParameterSpec& spec, int parameter);

  int parameter() const { return parameter_; }

  void pull(ParameterView<float>& view) override;
  void set_gradient(std::span<const float> values) override;
  void get_gradient(std::span<float> values) override;
  void push() override;

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
