// DeviceParameters: the weights and gradients of a batch in the memory of a device, copies of those of a store.  Used by
// Network, on devices with memory of their own.
#ifndef PS_MODEL_DEVICE_PARAMETERS_H_
#define PS_MODEL_DEVICE_PARAMETERS_H_

#include <span>
#include <vector>

#include "math/device.h"
#include "math/device_buffer.h"
#include "math/key_plan.h"
#include "optim/parameter.h"

namespace ps {

// A parameter whose view says that it is `there` lies in the memory of the device already, and is used as it is.
template <class T>
class DeviceParameters {
 public:
  // Sends the weights of the parameters that `used` marks, and makes room for their gradients.  Returns views of these
  // copies, one a parameter; the others are as they were given.  The given views stay until return_gradients.
  std::span<const ParameterView<T>> send(std::span<const ParameterSpec> specs, const std::vector<bool>& used,
                                         std::span<const KeyPlan> plans,
                                         std::span<const ParameterView<T>> views, Device& device);

  // The gradients, and the statistics, of the last send <- those of the device.  Both wait for it.
  void return_gradients();
  void return_statistics();

 private:
  struct Copy {
    DeviceBuffer<T> value, gradient;  // [rows, cols], or [N, cols]
    DeviceBuffer<T*> rows;            // [N]
    std::vector<T> gathered;          // [N, cols], what is sent
  };

  void send_whole(size_t parameter, Device& device);
  void send_rows(size_t parameter, std::span<const uint64_t> keys, Device& device);

  std::vector<Copy> copies_;  // by parameter
  std::vector<ParameterView<T>> there_;

  // These are of the last send.
  std::span<const ParameterSpec> specs_;
  std::vector<bool> sent_;
  std::span<const ParameterView<T>> views_;
  DeviceKernels* kernels_ = nullptr;
};

extern template class DeviceParameters<float>;
extern template class DeviceParameters<double>;

}  // namespace ps

#endif  // PS_MODEL_DEVICE_PARAMETERS_H_
