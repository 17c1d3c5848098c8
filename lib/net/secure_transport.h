// The tokens and certificates of a process, and the network that checks them.  Used by ps-serve and ps-train
// through lib/job.
#ifndef PS_NET_SECURE_TRANSPORT_H_
#define PS_NET_SECURE_TRANSPORT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/auth/auth_transport.h"
#include "net/network.h"
#include "net/tls/tls_transport.h"
#include "net/transport.h"

namespace ps {

// Files; empty where there is none.
struct SecurityOptions {
  std::string token_file;
  TlsFiles tls;
  TlsFiles etcd = {};     // for etcd, which has its own certificates
  bool insecure = false;  // ports may be reachable from other machines without tokens and certificates
};

// The contents of the files.  Constant; any thread may use it.
struct Credentials {
  std::vector<Token> tokens;   // tokens that a server accepts; empty: no token is needed
  std::optional<Token> shown;  // the token that a trainer shows
  TlsContexts tls;
};

// Throw kUsage if a file is not valid, or if a file that another one needs is missing.  Trainers show the token
// that grants the least access that suffices.
Credentials server_credentials(const SecurityOptions& options);
Credentials trainer_credentials(const SecurityOptions& options, Access needed);

// The credentials of a trainer that meets others without servers: it connects to them, and accepts them.
Credentials peer_credentials(const SecurityOptions& options);

// Throws kUsage if a process that listens on `host`, the value of `flag`, can be reached from other machines
// and would accept every peer.
void check_exposure(const SecurityOptions& options, const std::string& host,
                    std::string_view flag = "--host");

// Returns one line, for the log and the status page, on the peers that are accepted.  It is empty if only this
// machine can reach the ports.
std::string describe_exposure(const SecurityOptions& options, const std::string& host);

// A transport in front of `behind` with TLS, and then with tokens, as far as the credentials have them.  It has
// the owner thread and the lifetime rules of the transport behind it.  Programs get theirs from make_secure_network.
class SecureTransport final : public Transport {
 public:
  // `behind` must outlive it: transports with different credentials can be in front of one network.
  SecureTransport(Transport& behind, const Credentials& credentials, const HandshakeOptions& options = {});

  // Owns the transport behind it.
  SecureTransport(std::unique_ptr<Transport> behind, const Credentials& credentials,
                  const HandshakeOptions& options = {});

  Loop& loop() override { return front_->loop(); }
  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) override {
    return front_->listen(address, std::move(on_accept));
  }
  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) override {
    return front_->connect(address, timeout, std::move(on_connect));
  }
  uint64_t num_refused() const override { return front_->num_refused(); }

  // The certificates, and the tokens where some had to be shown before, for connections from now on.
  void set_credentials(const Credentials& credentials) {
    tls_.set_contexts(credentials.tls);
    if (tokens_) tokens_->set_tokens(credentials.tokens, credentials.shown);
  }

 private:
  std::unique_ptr<Transport> owned_;  // null: another owns the transport behind
  TlsTransport tls_;
  std::optional<AuthTransport> tokens_;
  Transport* const front_;
};

// Returns a transport with its own loop, as make_network does, with TLS and tokens as far as the credentials have
// them.
std::unique_ptr<SecureTransport> make_secure_network(const Credentials& credentials,
                                                     const HandshakeOptions& handshakes = {},
                                                     const NetworkOptions& options = {});

}  // namespace ps

#endif  // PS_NET_SECURE_TRANSPORT_H_
