// AuthTransport: connections between processes that know the same token.  It stands in front of a transport on
// both sides.  Where others could listen, it needs TLS behind it, since the bytes after the handshake are
// neither encrypted nor protected by it.  Used by SecureTransport.
#ifndef PS_NET_AUTH_AUTH_TRANSPORT_H_
#define PS_NET_AUTH_AUTH_TRANSPORT_H_

#include <memory>
#include <optional>
#include <vector>

#include "net/auth/token_file.h"
#include "net/handshake/handshake_transport.h"

namespace ps {

// One owner thread, that of the loop.  Listeners accept peers that know one of the tokens `accepted`, and give
// streams with the access() of the token; without tokens they accept no peer.  Outgoing connections show the
// token `shown`; without one they do no handshake.
class AuthTransport final : public HandshakeTransport {
 public:
  AuthTransport(Transport& behind, std::vector<Token> accepted, std::optional<Token> shown,
                HandshakeOptions options = {});

  // Sets the tokens for future connections.
  void set_tokens(std::vector<Token> accepted, std::optional<Token> shown);

 private:
  std::unique_ptr<Handshake> accepting() override;
  std::unique_ptr<Handshake> connecting(const Address& address) override;

  std::shared_ptr<const std::vector<Token>> accepted_;
  std::optional<Token> shown_;
};

}  // namespace ps

#endif  // PS_NET_AUTH_AUTH_TRANSPORT_H_
