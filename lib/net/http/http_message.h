// The bytes of HTTP/1.1: requests out of what a client sends, responses as text.  Boost.Beast does it.  Used
// by HttpServer.
#ifndef PS_NET_HTTP_HTTP_MESSAGE_H_
#define PS_NET_HTTP_HTTP_MESSAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "net/http/http_server.h"

namespace ps {

// Owner thread only.
class HttpRequestParser {
 public:
  explicit HttpRequestParser(uint32_t max_header_bytes);
  ~HttpRequestParser();

  enum class State {
    kMore,     // not whole yet
    kRequest,  // see request(), head_only() and keep_alive()
    kBad,      // see refusal(); nothing more can be read
  };

  // Takes a request from the beginning of `bytes`, and removes from them what it has read.
  State parse(std::string& bytes);

  const HttpRequest& request() const { return request_; }
  const HttpResponse& refusal() const { return refusal_; }
  bool head_only() const { return head_only_; }
  bool keep_alive() const { return keep_alive_; }

 private:
  struct Beast;

  State refuse(int status, std::string why);
  State finish();

  const uint32_t max_header_bytes_;
  std::unique_ptr<Beast> beast_;  // of the request that is coming
  HttpRequest request_;
  HttpResponse refusal_;
  bool head_only_ = false, keep_alive_ = true;
};

// The bytes of a response; of a HEAD request's, without the body.
std::string http_response_text(const HttpResponse& response, bool head_only, bool keep_alive);

}  // namespace ps

#endif  // PS_NET_HTTP_HTTP_MESSAGE_H_
