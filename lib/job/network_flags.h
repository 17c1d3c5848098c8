// Converts the flags that name hosts, and --token-file, --tls-cert, --tls-key, --tls-ca, --etcd-… and
// --insecure, into options.  Used by ps-serve and ps-train.
#ifndef PS_JOB_NETWORK_FLAGS_H_
#define PS_JOB_NETWORK_FLAGS_H_

#include <string>
#include <string_view>

#include "cli/flags.h"
#include "net/secure_transport.h"

namespace ps {

SecurityOptions security_options(const Flags& flags);

// Returns the host that this flag names, an IPv6 number without brackets; empty if the flag is absent.  Throws
// kUsage, naming the flag.
std::string host_flag(const Flags& flags, std::string_view name);

}  // namespace ps

#endif  // PS_JOB_NETWORK_FLAGS_H_
