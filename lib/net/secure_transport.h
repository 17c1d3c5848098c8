// The tokens and certificates of a process, and its network with them in front.  Used by ps-serve and ps-train through
// lib/job.
#ifndef PS_NET_SECURE_TRANSPORT_H_
#define PS_NET_SECURE_TRANSPORT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/auth/auth_transport.h"
#include "net/tls/tls_transport.h"
#include "net/transport.h"

namespace ps {

// Files; empty where there is none.
struct SecurityOptions {
  std::string token_file;
  TlsFiles tls;
  TlsFiles etcd = {};     // of etcd, which has certificates of its own
  bool insecure = false;  // others may reach the ports although nobody has to prove anything
};

// The contents of the files.  Constant; any thread may use it.
struct Credentials {
  std::vector<Token> tokens;   // a server's, to accept; none: nobody has to show one
  std::optional<Token> shown;  // a trainer's
  TlsContexts tls;
};

// Throw kUsage when a file does not hold what it should, or one that is needed with another is missing.  Trainers show
// the token that grants no more than they need.
Credentials server_credentials(const SecurityOptions& options);
Credentials trainer_credentials(const SecurityOptions& options, Access needed);

// The credentials of a trainer that meets others without servers: it connects to them, and accepts them.
Credentials peer_credentials(const SecurityOptions& options);

// Throws kUsage when a process that listens on `host`, which `flag` has given, can be reached from elsewhere and would
// let in everybody.
void check_exposure(const SecurityOptions& options, const std::string& host,
                    std::string_view flag = "--host");

// In one line, who is let in: for the log and the status page.  Empty where the own machine alone is.
std::string describe_exposure(const SecurityOptions& options, const std::string& host);

// `behind`, with TLS and then tokens in front of it, as far as the credentials have them.  Same thread and lifetimes
// as the transport behind.
class SecureTransport final : public Transport {
 public:
  SecureTransport(Transport& behind, const Credentials& credentials, const HandshakeOptions& options = {});

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
    if (tokens_) tokens_->set_accepted(credentials.tokens);
  }

 private:
  TlsTransport tls_;
  std::optional<AuthTransport> tokens_;
  Transport* const front_;
};

}  // namespace ps

#endif  // PS_NET_SECURE_TRANSPORT_H_
