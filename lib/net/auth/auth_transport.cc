#include "net/auth/auth_transport.h"

#include <utility>

#include "net/auth/authentication.h"

namespace ps {

AuthTransport::AuthTransport(Transport& behind, std::vector<Token> accepted, std::optional<Token> shown,
                             HandshakeOptions options)
    : HandshakeTransport(behind, std::move(options)),
      accepted_(std::make_shared<const std::vector<Token>>(std::move(accepted))),
      shown_(std::move(shown)) {}

void AuthTransport::set_tokens(std::vector<Token> accepted, std::optional<Token> shown) {
  accepted_ = std::make_shared<const std::vector<Token>>(std::move(accepted));
  shown_ = std::move(shown);
}

std::unique_ptr<Handshake> AuthTransport::accepting() {
  return std::make_unique<ServerAuthentication>(accepted_);
}

std::unique_ptr<Handshake> AuthTransport::connecting(const Address&) {
  if (!shown_) return nullptr;
  return std::make_unique<ClientAuthentication>(*shown_);
}

}  // namespace ps
