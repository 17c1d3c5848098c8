// Connections that are handed on only when a handshake is done: nothing above `net` sees bytes of a peer that has
// not proven what it has to.  The base of AuthTransport and TlsTransport.
#ifndef PS_NET_HANDSHAKE_HANDSHAKE_TRANSPORT_H_
#define PS_NET_HANDSHAKE_HANDSHAKE_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/handshake/handshake.h"
#include "net/transport.h"

namespace ps {

// Limits of a listener's time and memory for strangers.
struct HandshakeOptions {
  Duration timeout = std::chrono::seconds(10);  // longest time for the handshake of an accepted connection
  // Beyond this, the stranger that came first makes room for the new one: idle and slow ones keep nobody out.
  size_t max_strangers = 256;
  // The delay of the answer to a refused peer, which makes guessing slow.
  Duration refusal_delay = std::chrono::seconds(1);
  // Called for each refused peer, with the reason.
  std::function<void(const std::string& peer, const Error& reason)> on_refused = [](const auto&,
                                                                                    const auto&) {};
};

// Owner thread only; each only grows.
struct HandshakeCounters {
  uint64_t accepted = 0;
  uint64_t refused = 0;    // the peer's proof was missing or wrong
  uint64_t lost = 0;       // the connection ended before
  uint64_t timed_out = 0;  // too slow
  uint64_t evicted = 0;    // closed to make room for another
};

// Same thread and lifetimes as the transport behind.
class HandshakeTransport : public Transport {
 public:
  HandshakeTransport(Transport& behind, HandshakeOptions options)
      : behind_(behind), options_(std::move(options)) {}

  Loop& loop() override { return behind_.loop(); }
  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) final;
  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) final;
  uint64_t num_refused() const override { return counters_.refused + behind_.num_refused(); }

  const HandshakeCounters& counters() const { return counters_; }
  const HandshakeOptions& options() const { return options_; }

 protected:
  // Return this side's handshake for an accepted connection, and for one to `address`; null if there is none.
  virtual std::unique_ptr<Handshake> accepting() = 0;
  virtual std::unique_ptr<Handshake> connecting(const Address& address) = 0;

 private:
  friend class HandshakeListener;
  friend class HandshakeAttempt;

  Transport& behind_;
  const HandshakeOptions options_;
  HandshakeCounters counters_;
};

}  // namespace ps

#endif  // PS_NET_HANDSHAKE_HANDSHAKE_TRANSPORT_H_
