// The communicator over NCCL, among trainers that each have a device with memory of its own.  Used by
// strategies of training, through strategy/peers.h.
#ifndef PS_COLLECTIVE_NCCL_COMMUNICATOR_H_
#define PS_COLLECTIVE_NCCL_COMMUNICATOR_H_

#include <functional>
#include <memory>
#include <string>

#include "collective/communicator.h"
#include "collective/nccl_device.h"
#include "net/loop.h"

namespace ps {

struct NcclOptions {
  std::string library = "libnccl.so.2";  // the argument of load_nccl
  Duration timeout{};                    // limit of each operation of NCCL, once all ranks have called it
  std::function<void()> run_loop = [] {
    // Runs all work that is ready on the loop of the network, without waiting for more.
  };
};

// Makes the communicator of this rank; all ranks of `network` do so at the same time, with the same ranks.
// NCCL adds on the devices, and decides the order of sums and so their bits.  Arrays of the host are copied to
// the device and back; those of its DeviceExchange are not copied.  Byte strings go over `network`.  Over it
// ranks also wait for each other before each call of NCCL, so that a late rank is waited for as there, and a
// rank that is gone is named.
//
// Throws kUsage, on all ranks, if a rank cannot load the library, has another version of it than rank 0, or has
// a library for another kind of device.  Throws the errors of NCCL as check_nccl does.
std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> network,
                                                     std::shared_ptr<NcclDevice> device,
                                                     const NcclOptions& options);

}  // namespace ps

#endif  // PS_COLLECTIVE_NCCL_COMMUNICATOR_H_
