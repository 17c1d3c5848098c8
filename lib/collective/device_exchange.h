// DeviceExchange: the collectives of a communicator that reaches the memory of a device.  Used by stores whose gradients are
// made there.
#ifndef PS_COLLECTIVE_DEVICE_EXCHANGE_H_
#define PS_COLLECTIVE_DEVICE_EXCHANGE_H_

#include <span>

#include "collective/communicator.h"

namespace ps {

// As Communicator, for arrays that lie in the memory of the device and do not come to the host.
class DeviceExchange {
 public:
  virtual ~DeviceExchange() = default;

  // Replaces each array, none of them empty, by the sum over the ranks.  It comes after the work that the device was given before,
  // and before what it is given later.
  virtual void all_reduce_there(std::span<const std::span<float>> arrays) = 0;
};

// Returns null for a communicator that reaches the memory of the host alone.
inline DeviceExchange* device_exchange_of(Communicator& communicator) {
  return dynamic_cast<DeviceExchange*>(&communicator);
}

}  // namespace ps

#endif  // PS_COLLECTIVE_DEVICE_EXCHANGE_H_
