// DeviceExchange: the collectives of a communicator that reaches the memory of a device.  Used by stores whose
// gradients are computed there.
#ifndef PS_COLLECTIVE_DEVICE_EXCHANGE_H_
#define PS_COLLECTIVE_DEVICE_EXCHANGE_H_

#include <span>

#include "collective/communicator.h"

namespace ps {

// The same rules as Communicator's hold, also on its owner thread.  Arrays lie in the memory of the device and
// are not copied to the host.
class DeviceExchange {
 public:
  virtual ~DeviceExchange() = default;

  // Replaces each array, none of which is empty, by the sum over the ranks.  The device does this after the
  // work that it was given before, and before the work that it is given later.
  virtual void all_reduce_there(std::span<const std::span<float>> arrays) = 0;
};

// Returns null if the communicator reaches only the memory of the host.
inline DeviceExchange* device_exchange_of(Communicator& communicator) {
  return dynamic_cast<DeviceExchange*>(&communicator);
}

}  // namespace ps

#endif  // PS_COLLECTIVE_DEVICE_EXCHANGE_H_
