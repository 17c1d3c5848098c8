// CompressedAmongPeers: all_reduce with an exchange that compresses gradients and has state of its own.  Used
// by the strategies dgc, power_sgd, compressed_all_reduce and auto.
#ifndef PS_STRATEGY_COMPRESSED_AMONG_PEERS_H_
#define PS_STRATEGY_COMPRESSED_AMONG_PEERS_H_

#include <string>

#include "device/model_devices.h"
#include "store/all_reduce_store.h"
#include "strategy/among_peers.h"

namespace ps {

// Makes the exchange compress gradients on the device that computes the model, if there is one.
template <class Options>
void place_compression(const TrainerSetup& setup, Options& options) {
  if (setup.model_device == nullptr || !setup.trains || setup.peers == nullptr) return;
  options.device = compression_device_of(setup.model_device, setup.device);
  options.on_device = *setup.on_devices;
}

// Exchange is a GradientCompression that is made from (Options, specs, LocalStore, Communicator) and has save
// and load.  One owner thread, that of the transport.
template <class Exchange, class Options>
class CompressedAmongPeers final : public AmongPeers {
 public:
  CompressedAmongPeers(const Options& options, const std::string& algorithm, const TrainerSetup& setup)
      : AmongPeers(setup, algorithm),
        exchange_(in_groups(options), parameters_, *here_.local(), *communicator_),
        store_(parameters_, *here_.local(), *communicator_, run_, &exchange_, {}, compressed_groups()) {}
  ParameterStore& store() override { return store_; }
  bool keeps_state() const override { return true; }
  void save_state(std::string& out) const override { exchange_.save(out); }
  void load_state(ByteReader& in) override { exchange_.load(in); }
  Json counters() const override {
    Json counters = byte_counters(store_.whole_bytes());
    if constexpr (requires { exchange_.describe(); }) counters.update(exchange_.describe());
    return counters;
  }

 private:
  // An exchange that counts groups is told of them.
  Options in_groups(Options options) const {
    if constexpr (requires { options.groups; }) options.groups = compressed_groups();
    return options;
  }

  Exchange exchange_;
  AllReduceStore store_;
};

}  // namespace ps

#endif  // PS_STRATEGY_COMPRESSED_AMONG_PEERS_H_
