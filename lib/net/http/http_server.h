// A small HTTP/1.1 server: whole answers to GET, HEAD and POST, for status pages and the requests of
// operators.  Used by StatusThread.
#ifndef PS_NET_HTTP_HTTP_SERVER_H_
#define PS_NET_HTTP_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/http/http_types.h"
#include "net/transport.h"

namespace ps {

// The limits of the time and memory that clients take of a server.
struct HttpOptions {
  // Beyond this, the client that the server has waited for longest makes room for the new one: idle and slow
  // clients cannot keep others out.
  size_t max_connections = 64;
  uint32_t max_header_bytes = 8192;
  Duration timeout = std::chrono::seconds(10);  // longest time to receive a request, and to send its answer
};

struct HttpCounters {
  uint64_t requests = 0;         // requests answered, also with an error
  uint64_t requests_bad = 0;     // those that were no HTTP, too long, with a body, or of another method
  uint64_t peers_evicted = 0;    // closed to make room for another
  uint64_t peers_timed_out = 0;  // too slow
};

// The owner thread is that of the transport's loop, which outlives this.  It answers one request of a connection
// at a time; further requests wait in the connection.  Requests with bodies are refused.
class HttpServer {
 public:
  // Computes an answer.  It must be quick, since other clients wait.  If it throws, the answer has status 500.
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Listens from now on; throws as Transport::listen does.
  HttpServer(Transport& transport, const Address& address, const HttpOptions& options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Returns the address with the port that was chosen.
  const Address& address() const;
  size_t num_connections() const;
  const HttpCounters& counters() const;

 private:
  friend class HttpPeer;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ps

#endif  // PS_NET_HTTP_HTTP_SERVER_H_
