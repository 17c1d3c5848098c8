// DeviceParameters: copies of a store's weights and gradients for one batch, in the memory of a device.  Used
// by Network, on devices with memory of their own.
#ifndef PS_MODEL_DEVICE_PARAMETERS_H_
#define PS_MODEL_DEVICE_PARAMETERS_H_

#include <span>
#include <vector>

#include "math/device.h"
#include "math/device_buffer.h"
#include "math/device_kernels.h"
#include "math/key_plan.h"
#include "optim/parameter.h"

namespace ps {

// One owner thread.  A parameter whose view says that it is `there` lies in the memory of the device already,
// and is not copied.
template <class T>
class DeviceParameters {
 public:
  // Sends the weights of the parameters that `used` marks, and makes room for their gradients.  Returns views
  // of these copies, one for each parameter; the views of other parameters are returned as they were given.  The
  // given views must stay valid until return_gradients.
  std::span<const ParameterView<T>> send(std::span<const ParameterSpec> specs, const std::vector<bool>& used,
                                         std::span<const KeyPlan> plans,
                                         std::span<const ParameterView<T>> views, Device& device);

  // Returns true if the last send sent the parameter.
  bool was_sent(size_t parameter) const { return copies_[parameter].sent; }

  // Sets the gradients of the parameters that were sent to zero, on the device.
  void zero_gradients();

  // Copy the gradients, and the statistics, of the last send back from the device.  Both wait for the device.
  void return_gradients();
  void return_statistics();

 private:
  struct Copy {
    bool sent = false;
    int64_t rows = 0, cols = 0;  // shape of its values, [rows, cols] or [N, cols]
    Upload values;
    DeviceBuffer<T*> pointers;  // [N], to rows
    int64_t gradient = -1;      // offset of its gradient in gradients_; -1: it has none
  };

  // Some rows of a parameter.
  struct RowBlock {
    size_t parameter;
    int64_t begin, end;
  };

  void upload();
  void point_to_values();
  T* gradient_here(size_t parameter) const;
  std::vector<RowBlock> row_blocks() const;

  std::vector<Copy> copies_;   // by parameter
  DeviceBuffer<T> gradients_;  // gradients of all parameters that were sent
  std::vector<ParameterView<T>> there_;

  // The arguments of the last send.
  std::span<const ParameterSpec> specs_;
  std::span<const ParameterView<T>> views_;
  Device* device_ = nullptr;
};

extern template class DeviceParameters<float>;
extern template class DeviceParameters<double>;

}  // namespace ps

#endif  // PS_MODEL_DEVICE_PARAMETERS_H_
