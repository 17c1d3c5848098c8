// Bytes as printable text: hexadecimal digits, and base64, RFC 4648 with padding.  Used by token files, by EtcdClient, whose
// JSON has no bytes, and by the passwords of HTTP (net/auth/http_token.h).
#ifndef PS_BASE_BYTE_TEXT_H_
#define PS_BASE_BYTE_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace ps {

// Returns nothing when there are other characters than digits, of either case, or an odd number of them.
std::optional<std::string> from_hex(std::string_view digits);

std::string to_base64(std::string_view bytes);

// Returns nothing for text that is not base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace ps

#endif  // PS_BASE_BYTE_TEXT_H_
