#include "net/host.h"

#include <arpa/inet.h>

#include "base/error.h"

namespace ps {

bool is_ipv6(std::string_view host) {
  in6_addr number{};
  return inet_pton(AF_INET6, std::string(host.substr(0, host.find('%'))).c_str(), &number) == 1;
}

std::string parse_host(std::string_view text) {
  std::string_view host = text;
  if (text.starts_with('[') && text.ends_with(']')) host = text.substr(1, text.size() - 2);
  const bool is_number = host.size() != text.size() || host.find_first_of(":[]") != std::string_view::npos;
  if (is_number && !is_ipv6(host)) {
    fail(Code::kUsage, "host ", quote(text), ": not an IPv6 address, expected such as ::1, or a name");
  }
  return std::string(host);
}

}  // namespace ps
