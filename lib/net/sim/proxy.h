// Proxy: stands between a client and a server, and delays, damages, repeats, reorders or cuts their frames, as
// a script says.  Used by tests, over the simulated network or over TCP. For less bandwidth and more latency,
// give it a ShapedTransport.
#ifndef PS_NET_SIM_PROXY_H_
#define PS_NET_SIM_PROXY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "net/frame.h"
#include "net/transport.h"

namespace ps {

enum class ProxyDirection { kToTarget, kToClient };

struct ProxyFault {
  enum Kind {
    kNone,
    kCut,        // the connection ends before the byte
    kHold,       // nothing passes from the byte on, until release(); the connection stays open
    kDelay,      // the byte and what follows it come later by `delay`
    kFlip,       // the lowest bit of the byte is turned
    kDuplicate,  // the frame passes twice
    kSwap,       // the frame passes after the next one, or after `delay` when none comes
  };
  Kind kind = kNone;
  uint64_t at_byte = 0;  // position in the frame with its header; at most its end
  Duration delay = std::chrono::milliseconds(10);
};

// From construction to destruction, forwards connections to its address to the target.  It has the owner thread
// and the lifetime rules of the transport.
class Proxy {
 public:
  // Called once for every frame, when its header is known.
  using Script = std::function<ProxyFault(ProxyDirection, const FrameHeader&)>;

  // Without a script, bytes pass as they come and need not be frames.
  Proxy(Transport& transport, const Address& listen_on, const Address& target, Script script = nullptr);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  const Address& address() const { return listener_->address(); }

  void set_target(const Address& target) { target_ = target; }  // for later connections

  // Resets all connections.
  void cut();
  // Lets the bytes pass that are held.
  void release();

  uint64_t num_faults() const { return num_faults_; }
  uint64_t bytes_passed() const { return bytes_passed_; }
  size_t num_connections() const { return pipes_.size(); }

 private:
  class Pump;
  class Pipe;

  void accept(std::unique_ptr<Stream> client);

  Transport& transport_;
  Address target_;
  const Script script_;
  uint64_t num_faults_ = 0, bytes_passed_ = 0, num_accepted_ = 0;
  std::map<uint64_t, std::unique_ptr<Pipe>> pipes_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace ps

#endif  // PS_NET_SIM_PROXY_H_
