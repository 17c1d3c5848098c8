// Handshake: the proofs that one side of a new connection gives and demands before the connection is handed
// on.  Implemented by authentication (net/auth) and encryption (net/tls); run by HandshakeTransport.
#ifndef PS_NET_HANDSHAKE_HANDSHAKE_H_
#define PS_NET_HANDSHAKE_HANDSHAKE_H_

#include <memory>
#include <span>
#include <string>

#include "net/transport.h"

namespace ps {

// Belongs to one connection, and to the thread of its loop.
class Handshake {
 public:
  virtual ~Handshake() = default;

  enum class Step { kDone, kWaitReadable, kWaitWritable };

  // Goes on as far as it can without waiting.  Throws kAuthentication when one side refuses the other, and
  // kUnavailable when the connection is lost; it is not called again then.
  virtual Step go_on(Stream& stream) = 0;

  // Once, after kDone: the stream to hand on, in place of the one on which it was done.
  virtual std::unique_ptr<Stream> finish(std::unique_ptr<Stream> stream) = 0;

  // The bytes that are sent to a refused peer before the connection ends.
  virtual std::string last_words() const { return ""; }
};

// Moves bytes until `bytes` are all read into, or written, and counts them in `done`; false when that has to
// wait.  Throws kUnavailable when the connection fails or ends before.
bool read_all(Stream& stream, std::span<char> bytes, size_t& done);
bool write_all(Stream& stream, std::span<const char> bytes, size_t& done);

// begins_frame returns true if `bytes` begin a frame, which means that the peer does not expect a handshake;
// notice_frame makes the frame with the reason for refusing it.
bool begins_frame(std::span<const char> bytes);
std::string notice_frame(const Error& reason);

}  // namespace ps

#endif  // PS_NET_HANDSHAKE_HANDSHAKE_H_
