// A certificate that a process makes for connections to itself.  Used by the suite `pull-push`, which measures
// TLS.
#ifndef PS_NET_TLS_LOOPBACK_CERTIFICATE_H_
#define PS_NET_TLS_LOOPBACK_CERTIFICATE_H_

#include "net/tls/tls_transport.h"

namespace ps {

// Returns contexts for both sides with a new certificate for 127.0.0.1, which is its own authority and valid
// for a day.  Its files are removed before the function returns.  Throws kInternal if OpenSSL cannot make it.
TlsContexts make_loopback_contexts();

}  // namespace ps

#endif  // PS_NET_TLS_LOOPBACK_CERTIFICATE_H_
