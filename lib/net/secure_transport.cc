#include "net/secure_transport.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "net/auth/http_token.h"

namespace ps {

namespace {

void check_pair(const TlsFiles& files) {
  if (files.certificate.empty() != files.key.empty()) {
    fail(Code::kUsage, "--tls-cert and --tls-key belong together");
  }
}

}  // namespace

static TlsContexts server_certificates(const SecurityOptions& options) {
  const TlsFiles& files = options.tls;
  check_pair(files);
  if (files.certificate.empty()) {
    if (!files.authority.empty()) fail(Code::kUsage, "--tls-ca: a server needs --tls-cert and --tls-key too");
    return {};
  }
  return {.server = std::make_shared<TlsContext>(files, TlsSide::kServer), .client = nullptr};
}

// Reads the tokens of a server.  Throws if there are only tokens of status pages: these do not admit trainers,
// so that no peer could have a token that the ports accept.
static std::vector<Token> read_server_tokens(const std::string& path) {
  std::vector<Token> tokens = read_token_file(path);
  const bool lets_in =
      std::ranges::any_of(tokens, [](const Token& token) { return token.access != kStatusAccess; });
  if (!lets_in) fail(Code::kUsage, "token file ", quote(path), ": no token for 'read', 'train' or 'admin'");
  return tokens;
}

Credentials server_credentials(const SecurityOptions& options) {
  Credentials credentials;
  if (!options.token_file.empty()) credentials.tokens = read_server_tokens(options.token_file);
  credentials.tls = server_certificates(options);
  return credentials;
}

// A certificate without an authority is refused, since the trainer would prove who it is to a server that
// it cannot check.
Credentials trainer_credentials(const SecurityOptions& options, Access needed) {
  const TlsFiles& files = options.tls;
  Credentials credentials;
  if (!options.token_file.empty()) {
    credentials.shown = choose_token(read_token_file(options.token_file), needed, options.token_file);
  }
  check_pair(files);
  if (files.authority.empty()) {
    if (files.certificate.empty()) return credentials;
    fail(Code::kUsage, "--tls-cert: servers are known by the authority in --tls-ca, which is missing");
  }
  credentials.tls.client = std::make_shared<TlsContext>(files, TlsSide::kClient);
  return credentials;
}

// A peer shows a token and a certificate as a trainer does, and accepts them as a server does.  So it needs
// a certificate of its own as soon as certificates are checked.
Credentials peer_credentials(const SecurityOptions& options) {
  Credentials credentials = trainer_credentials(options, Access::kTrain);
  if (!options.token_file.empty()) {
    for (Token& token : read_token_file(options.token_file)) {
      if (token.access >= Access::kTrain) credentials.tokens.push_back(std::move(token));
    }
  }
  if (credentials.tls.client) {
    if (options.tls.certificate.empty()) {
      fail(Code::kUsage, "--tls-ca: trainers that meet without servers need --tls-cert and --tls-key too");
    }
    credentials.tls.server = std::make_shared<TlsContext>(options.tls, TlsSide::kServer);
  }
  return credentials;
}

void check_exposure(const SecurityOptions& options, const std::string& host, std::string_view flag) {
  if (is_loopback(host) || options.insecure) return;
  if (!options.token_file.empty() || !options.tls.authority.empty()) return;
  fail(Code::kUsage, flag, " ", quote(host),
       " can be reached by others, who may do everything: give --token-file, or --tls-ca with certificates, "
       "or --insecure");
}

std::string describe_exposure(const SecurityOptions& options, const std::string& host) {
  if (is_loopback(host)) return "";
  const bool tokens = !options.token_file.empty(), certificates = !options.tls.authority.empty();
  const bool encrypted = !options.tls.certificate.empty();
  if (!tokens && !certificates) return "insecure: whoever reaches the ports may read and change everything";
  const std::string who = cat("those with ", tokens ? "a token" : "", tokens && certificates ? " and " : "",
                              certificates ? "a certificate" : "", " are let in");
  return encrypted ? who : who + ", but what they send is not encrypted";
}

SecureTransport::SecureTransport(Transport& behind, const Credentials& credentials,
                                 const HandshakeOptions& options)
    // Tokens are shown inside of TLS, so their transport stands in front of tls_; without tokens tls_ is
    // the front itself.
    : tls_(behind, credentials.tls, options), front_([&]() -> Transport* {
        if (credentials.tokens.empty() && !credentials.shown) return &tls_;
        return &tokens_.emplace(tls_, credentials.tokens, credentials.shown, options);
      }()) {}

SecureTransport::SecureTransport(std::unique_ptr<Transport> behind, const Credentials& credentials,
                                 const HandshakeOptions& options)
    : SecureTransport(*behind, credentials, options) {
  owned_ = std::move(behind);
}

std::unique_ptr<SecureTransport> make_secure_network(const Credentials& credentials,
                                                     const HandshakeOptions& handshakes,
                                                     const NetworkOptions& options) {
  return std::make_unique<SecureTransport>(make_network(options), credentials, handshakes);
}

}  // namespace ps
