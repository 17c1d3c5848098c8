#include "net/auth/http_token.h"

#include <openssl/crypto.h>
#include <strings.h>

#include <algorithm>

#include "base/byte_text.h"

namespace ps {

namespace {

// Skips the name of a scheme, in capitals or not.
bool skip_scheme(std::string_view& rest, std::string_view scheme) {
  if (rest.size() <= scheme.size() || rest[scheme.size()] != ' ') return false;
  if (strncasecmp(rest.data(), scheme.data(), scheme.size()) != 0) return false;
  rest.remove_prefix(scheme.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return true;
}

// Returns the secret's bytes, or nothing when the header holds none.
std::optional<std::string> shown_secret(std::string_view authorization, bool takes_password) {
  if (skip_scheme(authorization, "Bearer")) return from_hex(authorization);
  if (!takes_password || !skip_scheme(authorization, "Basic")) return std::nullopt;
  const std::optional<std::string> user = from_base64(authorization);
  const size_t colon = user ? user->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  return from_hex(std::string_view(*user).substr(colon + 1));
}

}  // namespace

// All tokens are compared, each in a time that does not tell how many bytes are the same.
ShownToken check_http_token(std::string_view authorization, const std::vector<Token>& accepted,
                            Access access) {
  if (authorization.empty()) return ShownToken::kNone;
  const std::optional<std::string> shown = shown_secret(authorization, access == kStatusAccess);
  if (!shown) return ShownToken::kWrong;
  bool right = false;
  for (const Token& token : accepted) {
    const bool same = token.secret.size() == shown->size() &&
                      CRYPTO_memcmp(token.secret.data(), shown->data(), shown->size()) == 0;
    right = right || (same && token.access == access);
  }
  return right ? ShownToken::kRight : ShownToken::kWrong;
}

}  // namespace ps
