// Tokens over HTTP: a request shows one as a bearer (RFC 6750), as Prometheus does, or, for status pages, as the password
// of a user of any name (RFC 7617), for which browsers ask.  HTTP sends the token itself, so those of kStatusAccess grant
// no other access, and those of operators must not be sent where others hear them.  Used by StatusThread.
#ifndef PS_NET_AUTH_HTTP_TOKEN_H_
#define PS_NET_AUTH_HTTP_TOKEN_H_

#include <string_view>
#include <vector>

#include "net/auth/token_file.h"

namespace ps {

enum class ShownToken { kNone, kWrong, kRight };

// Judges the value of a request's Authorization header, empty where there is none: "Bearer 0123..." or "Basic BASE64",
// the secret in the hexadecimal digits of the token file.  Right is a token that grants this access and no other: those of
// kStatusAccess, or those of Access::kAdmin.  The latter are right as bearers alone, since a browser adds a password by
// itself to whatever any page makes it send.  The time that it takes tells nothing of the tokens.
ShownToken check_http_token(std::string_view authorization, const std::vector<Token>& accepted,
                            Access access);

}  // namespace ps

#endif  // PS_NET_AUTH_HTTP_TOKEN_H_
