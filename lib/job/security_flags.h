// The flags --token-file, --tls-cert, --tls-key, --tls-ca and --insecure as options.  Used by ps-serve and ps-train.
#ifndef PS_JOB_SECURITY_FLAGS_H_
#define PS_JOB_SECURITY_FLAGS_H_

#include "cli/flags.h"
#include "net/secure_transport.h"

namespace ps {

SecurityOptions security_options(const Flags& flags);

}  // namespace ps

#endif  // PS_JOB_SECURITY_FLAGS_H_
