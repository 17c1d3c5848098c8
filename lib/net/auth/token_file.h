// Tokens: the secrets of a job, by which a server and its trainers know each other.  They are read from files
// only, never from flags or the environment, which others may read.  Used by AuthTransport.
#ifndef PS_NET_AUTH_TOKEN_FILE_H_
#define PS_NET_AUTH_TOKEN_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "net/transport.h"

namespace ps {

// A secret, and the access that it grants to a peer that knows it.
struct Token {
  Access access = Access::kRead;
  std::string secret;  // bytes
};

// The access that allows nothing but status pages (net/auth/http_token.h).
inline constexpr Access kStatusAccess{0};

inline constexpr size_t kMinSecretBytes = 16, kMaxSecretBytes = 256;

// "read", "train", "admin".
std::string_view access_name(Access access);

// Returns the tokens of a file, at least one.  Each has a line, "train 0123456789abcdef0123456789abcdef", the
// secret in hexadecimal digits; lines that begin with '#' and empty lines are passed over.  Throws kUsage,
// never with a secret in it, unless the file is a regular one that belongs to this user or root, and is
// readable and writable by its owner alone.
std::vector<Token> read_token_file(const std::string& path);

// Parses the text of such a file; `name` is for messages.
std::vector<Token> parse_tokens(std::string_view text, const std::string& name);

// Returns the token to show to a server: the one with the least access that suffices.  Throws kUsage if none
// suffices.
const Token& choose_token(const std::vector<Token>& tokens, Access needed, const std::string& name);

}  // namespace ps

#endif  // PS_NET_AUTH_TOKEN_FILE_H_
