// Tokens over HTTP, for status pages: a request shows one as a bearer (RFC 6750), as Prometheus does, or as the
// password of a user of any name (RFC 7617), for which browsers ask.  HTTP sends the token itself, so these
// tokens, of kStatusAccess, grant no other access.  Used by StatusThread.
#ifndef PS_NET_AUTH_HTTP_TOKEN_H_
#define PS_NET_AUTH_HTTP_TOKEN_H_

#include <string_view>
#include <vector>

#include "net/auth/token_file.h"

namespace ps {

enum class ShownToken { kNone, kWrong, kRight };

// Judges the value of a request's Authorization header, empty where there is none: "Bearer 0123..." or "Basic BASE64",
// the secret in the hexadecimal digits of the token file.  The time that it takes tells nothing of the tokens.
ShownToken check_http_token(std::string_view authorization, const std::vector<Token>& accepted);

}  // namespace ps

#endif  // PS_NET_AUTH_HTTP_TOKEN_H_
