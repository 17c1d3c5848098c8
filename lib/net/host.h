// Hosts as users write them.  Used by parse_address and by flags.
#ifndef PS_NET_HOST_H_
#define PS_NET_HOST_H_

#include <string>
#include <string_view>

namespace ps {

// True for "::1" and "fe80::1%eth0": behind '%' stands the network interface that a link-local address belongs to.
bool is_ipv6(std::string_view host);

// The host to listen on or to be reached at: a name or a number, an IPv6 one with or without brackets, which are taken off;
// empty is left so.  Throws kUsage.
std::string parse_host(std::string_view text);

}  // namespace ps

#endif  // PS_NET_HOST_H_
