// DenseOnDevice: a dense parameter of a LocalStore that is trained in the memory of a device, which has its
// weights, the state of its optimizer, and its gradient.  Used by ModelStore, and by exchanges that encode
// gradients there.
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
  // `store`, which must be able to lend the parameter, `device` and `kernels` outlive it.
  DenseOnDevice(LocalStore& store, int parameter, Device& device, ModelDevice& kernels);

  // Returns the bytes that a parameter takes on the device.
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
  std::vector<float> floats_;              // scratch on the host: the stored floats
  int64_t size_ = 0;
  bool is_there_ = false, changed_ = false;
};

}  // namespace ps

#endif  // PS_DEVICE_DENSE_ON_DEVICE_H_
