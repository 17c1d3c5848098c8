// Transport: byte streams between hosts, the interface between the protocols of `net` and the networks that
// carry them.  Implemented by TCP (net/tcp/tcp_transport.h), by a simulated network (net/sim/sim_network.h),
// and by what stands in front of either: a shaped link (net/shaped_transport.h), encryption
// (net/tls/tls_transport.h), and the proof of a token (net/auth/auth_transport.h).
//
// Everything here belongs to the thread of the transport's loop, and the loop and the transport outlive it.
#ifndef PS_NET_TRANSPORT_H_
#define PS_NET_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/loop.h"

namespace ps {

using ConstBytes = std::span<const char>;
using MutableBytes = std::span<char>;

inline std::string_view text_of(ConstBytes bytes) {
  return {bytes.data(), bytes.size()};
}

struct Address {
  // A name or a number, IPv6 without brackets.  For listening, an empty host means all addresses, and localhost
  // both 127.0.0.1 and ::1.
  std::string host;
  uint16_t port = 0;  // 0 to listen on any port that is free

  bool operator==(const Address&) const = default;
};

// "host:port", "[::1]:port" or, with a default port that is not 0, "host".  Throws kUsage.
Address parse_address(std::string_view text, uint16_t default_port = 0);
std::string to_text(const Address& address);

// The rights of a peer.  Each includes those before it.  On the wire (net/auth/authentication.h): never
// renumber.
enum class Access : uint8_t { kRead = 1, kTrain = 2, kAdmin = 3 };

// Returns true when the host is one of those at which this machine alone can be reached: 127.x.y.z,
// ::ffff:127.x.y.z, ::1, localhost.
bool is_loopback(const std::string& host);

// Returns true when the peer of this address, "127.0.0.1:4711", is on this machine.
bool is_loopback_peer(const std::string& peer);

// The result of a read or a write.  No error and no bytes: the peer has ended the stream (read only).
struct IoResult {
  size_t bytes = 0;
  int error = 0;  // an errno

  bool blocked() const;  // nothing to read, or no room to write, at the moment
  bool ended() const { return bytes == 0 && error == 0; }
};

// One end of a connection.  Destroying it closes the connection: bytes not yet taken by the peer may be lost.
class Stream {
 public:
  // Called by the loop, never inside a call of the stream; the stream may be destroyed in it.
  class Events {
   public:
    virtual void on_readable() = 0;
    virtual void on_writable() = 0;

   protected:
    ~Events() = default;
  };

  virtual ~Stream() = default;

  // The largest number of spans that one call uses; the next call uses the others.
  static constexpr size_t kMaxSpans = 256;

  // Move bytes into or out of the spans, in order, without waiting.  A read of fewer bytes than asked for has
  // taken all that there were.  At least one byte must be asked for.
  virtual IoResult read(std::span<const MutableBytes> into) = 0;
  virtual IoResult write(std::span<const ConstBytes> from) = 0;

  // Asks for one call of on_readable (on_writable) as soon as a read (write) would not block; asking again
  // before it came changes nothing.  It may come although a read would block.
  virtual void wait_readable() = 0;
  virtual void wait_writable() = 0;

  // Returns how many bytes were written that this process still holds: they go on while the loop runs, and not before.
  virtual uint64_t held_bytes() const { return 0; }

  // Returns how many bytes were written of which the peer's system has not said that it has them: those held too.
  virtual uint64_t undelivered_bytes() const { return held_bytes(); }

  // Ends the own direction after all written bytes.  Reading goes on.
  virtual void shutdown_write() = 0;

  virtual void set_events(Events* events) = 0;

  // Returns the peer's address for messages: "127.0.0.1:4711".
  virtual const std::string& peer() const = 0;

  // Returns the rights that the peer has proven; all of them where nothing has to be proven.
  virtual Access access() const { return Access::kAdmin; }
};

// "connection reset by peer".
std::string io_error_text(int error);

// The error that ends a connection: kAuthentication when the peer does not take this side's certificate
// (EKEYREJECTED), else kUnavailable.
Error io_error(int error);

// Accepts connections until it is destroyed.  The loop's thread owns it.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual const Address& address() const = 0;  // with the port that was chosen
};

// A connection that is being made.  Destroying the object gives it up.
class ConnectAttempt {
 public:
  virtual ~ConnectAttempt() = default;
};

class Transport {
 public:
  using OnAccept = std::function<void(std::unique_ptr<Stream>)>;
  // Either a stream or an error, which is kUnavailable unless trying again is of no use.
  using OnConnect = std::function<void(std::unique_ptr<Stream>, std::optional<Error>)>;

  virtual ~Transport() = default;

  virtual Loop& loop() = 0;

  // Throws when the address cannot be had: kUsage when it is no address of this host, kAuthentication when
  // the port may not be used, kUnavailable when it is taken.
  virtual std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) = 0;

  // Resolves and connects; one call of `on_connect`, never inside this one, at the latest after `timeout`.
  // The attempt may be destroyed in it.
  virtual std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                                  OnConnect on_connect) = 0;

  // Returns the number of peers that were refused because they did not authenticate.
  virtual uint64_t num_refused() const { return 0; }
};

}  // namespace ps

#endif  // PS_NET_TRANSPORT_H_
