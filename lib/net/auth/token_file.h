// Tokens: the secrets of a job, by which a server and its trainers know each other.  They come out of files alone,
// never out of flags or the environment, which others may read.  Used by AuthTransport.
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

inline constexpr size_t kMinSecretBytes = 16, kMaxSecretBytes = 256;

// "read", "train", "admin".
std::string_view access_name(Access access);

// The tokens of a file, at least one: a line each, "train 0123456789abcdef0123456789abcdef", the secret in
// hexadecimal digits; lines that begin with '#' and empty lines are passed over.  Throws kUsage, never with a
// secret in it, unless the file is a regular one that belongs to this user or root, and is readable and writable
// by its owner alone.
std::vector<Token> read_token_file(const std::string& path);

// The same of the file's text; `name` is for messages.
std::vector<Token> parse_tokens(std::string_view text, const std::string& name);

// The token to show to a server: of those that suffice, the one that may do least.  Throws kUsage when none does.
const Token& choose_token(const std::vector<Token>& tokens, Access needed, const std::string& name);

}  // namespace ps

#endif  // PS_NET_AUTH_TOKEN_FILE_H_
