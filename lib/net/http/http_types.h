// The requests and answers of HTTP, of a server and of a client.  Used by HttpServer, http_post and their parsers.
#ifndef PS_NET_HTTP_HTTP_TYPES_H_
#define PS_NET_HTTP_HTTP_TYPES_H_

#include <string>

#include "net/loop.h"

namespace ps {

struct HttpRequest {
  bool post = false;          // its method is POST; else GET or HEAD
  std::string path;           // the part before '?', as it was sent
  std::string authorization;  // the header's value; empty where there is none
  std::string peer;           // address of the client, for messages: "127.0.0.1:4711"
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string allow = "GET, HEAD";  // the methods of the path, for status 405
  bool takes_password = true;       // for status 401: a password is taken in place of a bearer's token
  Duration delay{0};                // before it is sent; the client's other requests wait, too
};

struct HttpPost {
  std::string target;  // "/v3/kv/range"
  std::string type = "application/json";
  std::string body;
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

}  // namespace ps

#endif  // PS_NET_HTTP_HTTP_TYPES_H_
