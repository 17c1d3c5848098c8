// Connections between processes that know the same token.  In front of a transport on both sides; over TLS where
// others could listen, since what follows the handshake is neither hidden nor protected by it.  Used by
// SecureTransport.
#ifndef PS_NET_AUTH_AUTH_TRANSPORT_H_
#define PS_NET_AUTH_AUTH_TRANSPORT_H_

#include <memory>
#include <optional>
#include <vector>

#include "net/auth/token_file.h"
#include "net/handshake/handshake_transport.h"

namespace ps {

// Listeners accept who knows one of the tokens `accepted`, and give streams whose access() is that of the token;
// without any they accept nobody.  Connections that are made show the token `shown`; without one they are made
// as they are.
class AuthTransport final : public HandshakeTransport {
 public:
  AuthTransport(Transport& behind, std::vector<Token> accepted, std::optional<Token> shown,
                HandshakeOptions options = {});

  // For connections from now on.
  void set_accepted(std::vector<Token> accepted);

 private:
  std::unique_ptr<Handshake> accepting() override;
  std::unique_ptr<Handshake> connecting(const Address& address) override;

  std::shared_ptr<const std::vector<Token>> accepted_;
  const std::optional<Token> shown_;
};

}  // namespace ps

#endif  // PS_NET_AUTH_AUTH_TRANSPORT_H_
