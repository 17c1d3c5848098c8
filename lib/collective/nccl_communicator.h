// The communicator over NCCL, among trainers that each have a device with memory of its own.  Used by strategies of training,
// through strategy/peers.h.
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
  std::string library = "libnccl.so.2";  // as load_nccl takes it
  Duration timeout{};                    // of what NCCL does, once all ranks have called it
  std::function<void()> run_loop = [] {
  };  // runs what is to be done on the loop of the network, without waiting for more
};

// All ranks of `network` make theirs at the same time, with the same ranks.  Sums are NCCL's, on the devices: their order,
// and so their bits, is NCCL's affair.  Arrays of the host are copied to the device and back; those of its DeviceExchange
// are not.  Byte strings go over `network`, over which ranks also wait for each other before each call of NCCL: so a rank that
// is late is waited for as there, and one that is gone is named.
//
// Throws kUsage, on all ranks, when a rank cannot load the library, has another version of it than rank 0, or a library for
// another kind of device; and the errors of NCCL, as check_nccl does.
std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> network,
                                                     std::shared_ptr<NcclDevice> device,
                                                     const NcclOptions& options);

}  // namespace ps

#endif  // PS_COLLECTIVE_NCCL_COMMUNICATOR_H_
