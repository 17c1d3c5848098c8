// TlsTransport: encrypted connections by TLS 1.3 of OpenSSL 3, in front of a transport on both sides.  Used by
// SecureTransport.
#ifndef PS_NET_TLS_TLS_TRANSPORT_H_
#define PS_NET_TLS_TLS_TRANSPORT_H_

#include <memory>

#include "net/handshake/handshake_transport.h"
#include "net/tls/tls_context.h"

namespace ps {

// The contexts for accepted and for own connections; null: such connections are not encrypted.
struct TlsContexts {
  std::shared_ptr<const TlsContext> server, client;
};

// The certificate of a server must be for the host of the address that is connected to.  One owner thread.
class TlsTransport final : public HandshakeTransport {
 public:
  TlsTransport(Transport& behind, TlsContexts contexts, HandshakeOptions options = {});

  // Sets the contexts of later connections.
  void set_contexts(TlsContexts contexts) { contexts_ = std::move(contexts); }

 private:
  std::unique_ptr<Handshake> accepting() override;
  std::unique_ptr<Handshake> connecting(const Address& address) override;

  TlsContexts contexts_;
};

}  // namespace ps

#endif  // PS_NET_TLS_TLS_TRANSPORT_H_
