// Parsers for the requests and answers of HTTP/1.1, and functions that write both as text.  Boost.Beast reads
// them.  Used by HttpServer and http_post.
#ifndef PS_NET_HTTP_HTTP_MESSAGE_H_
#define PS_NET_HTTP_HTTP_MESSAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "net/http/http_types.h"

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
  std::unique_ptr<Beast> beast_;  // parser of the request that is being received
  HttpRequest request_;
  HttpResponse refusal_;
  bool head_only_ = false, keep_alive_ = true;
};

// Owner thread only.
class HttpAnswerParser {
 public:
  HttpAnswerParser(uint32_t max_header_bytes, uint64_t max_body_bytes);
  ~HttpAnswerParser();

  // Takes what came next.  Throws kData when it is no HTTP, or too long.
  void parse(std::string_view bytes);

  // The connection has ended, which may be the end of the answer.  Throws kData as parse, and kUnavailable
  // when half of it is there.
  void end();

  // Returns true when the answer is whole: then it may be taken, once.
  bool done() const;
  HttpAnswer take();

 private:
  struct Beast;
  std::unique_ptr<Beast> beast_;
  std::string rest_;  // received and not parsed: part of a line
};

// The bytes of a request that ends its connection.
std::string http_post_text(const std::string& host, const HttpPost& post);

// The bytes of a response; of a HEAD request's, without the body.
std::string http_response_text(const HttpResponse& response, bool head_only, bool keep_alive);

}  // namespace ps

#endif  // PS_NET_HTTP_HTTP_MESSAGE_H_
