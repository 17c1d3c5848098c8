// A small HTTP/1.1 client: posts a text, and takes the whole answer.  Used by EtcdClient.
#ifndef PS_NET_HTTP_HTTP_CLIENT_H_
#define PS_NET_HTTP_HTTP_CLIENT_H_

#include <cstdint>
#include <string>

#include "net/http/http_types.h"
#include "net/transport.h"

namespace ps {

// The limits of the time and memory that a server takes of its client.
struct HttpLimits {
  Duration timeout = std::chrono::seconds(2);  // for all of it
  uint32_t max_header_bytes = 16 << 10;
  uint64_t max_body_bytes = 4 << 20;
};

// Asks over a connection of its own, and drives the transport's loop until there is an answer.  Throws
// kUnavailable "server 'a:2379': why" when there is none in time, or the connection ends before; kData when
// the answer is no HTTP, or longer than it may be.
HttpAnswer http_post(Transport& transport, const Address& address, const HttpPost& post,
                     const HttpLimits& limits = {});

}  // namespace ps

#endif  // PS_NET_HTTP_HTTP_CLIENT_H_
