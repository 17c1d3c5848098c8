#include "net/http/http_message.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>

namespace ps {

namespace http = boost::beast::http;

// ---- requests

struct HttpRequestParser::Beast {
  http::request_parser<http::empty_body> parser;
};

HttpRequestParser::HttpRequestParser(uint32_t max_header_bytes) : max_header_bytes_(max_header_bytes) {}
HttpRequestParser::~HttpRequestParser() = default;

// The bytes of the request are removed from `bytes`, and those of a request sent ahead stay for the next
// call.  The parser is made anew for each request.
HttpRequestParser::State HttpRequestParser::parse(std::string& bytes) {
  if (!beast_) {
    beast_ = std::make_unique<Beast>();
    beast_->parser.header_limit(max_header_bytes_);
    beast_->parser.eager(true);
  }
  boost::system::error_code error;
  bytes.erase(0, beast_->parser.put(boost::asio::buffer(bytes), error));
  if (error == http::error::need_more) return State::kMore;
  if (error == http::error::header_limit) return refuse(431, cat("more than ", max_header_bytes_, " bytes"));
  if (error == http::error::unexpected_body || error == http::error::body_limit)
    return refuse(413, "a request has no body here");
  if (error) return refuse(400, error.message());
  return beast_->parser.is_done() ? finish() : State::kMore;
}

HttpRequestParser::State HttpRequestParser::refuse(int status, std::string why) {
  refusal_ = {.status = status, .body = cat(why, "\n"), .allow = "GET, HEAD, POST"};
  head_only_ = keep_alive_ = false;
  return State::kBad;
}

HttpRequestParser::State HttpRequestParser::finish() {
  auto message = beast_->parser.release();
  beast_.reset();
  head_only_ = message.method() == http::verb::head;
  request_.post = message.method() == http::verb::post;
  if (!head_only_ && !request_.post && message.method() != http::verb::get)
    return refuse(405, "only GET, HEAD and POST are answered");
  keep_alive_ = message.keep_alive();
  std::string_view target(message.target().data(), message.target().size());
  request_.path = target.substr(0, target.find('?'));
  const auto authorization = message[http::field::authorization];
  request_.authorization.assign(authorization.data(), authorization.size());
  return State::kRequest;
}

// ---- answers

struct HttpAnswerParser::Beast {
  http::response_parser<http::string_body> parser;
};

namespace {

[[noreturn]] void fail_answer(const boost::system::error_code& error) {
  fail(Code::kData, "the answer is no HTTP that can be read: ", error.message());
}

}  // namespace

HttpAnswerParser::HttpAnswerParser(uint32_t max_header_bytes, uint64_t max_body_bytes)
    : beast_(std::make_unique<Beast>()) {
  beast_->parser.header_limit(max_header_bytes);
  beast_->parser.body_limit(max_body_bytes);
  beast_->parser.eager(true);
}

HttpAnswerParser::~HttpAnswerParser() = default;

void HttpAnswerParser::parse(std::string_view bytes) {
  rest_.append(bytes);
  boost::system::error_code error;
  rest_.erase(0, beast_->parser.put(boost::asio::buffer(rest_), error));
  if (error && error != http::error::need_more) fail_answer(error);
}

void HttpAnswerParser::end() {
  boost::system::error_code error;
  if (beast_->parser.got_some()) beast_->parser.put_eof(error);
  if (error && error != http::error::partial_message) fail_answer(error);
  if (!done()) fail(Code::kUnavailable, "the connection ended before the answer");
}

bool HttpAnswerParser::done() const {
  return beast_->parser.is_done();
}

HttpAnswer HttpAnswerParser::take() {
  http::response<http::string_body> message = beast_->parser.release();
  return {static_cast<int>(message.result_int()), std::move(message.body())};
}

// ---- text

std::string http_post_text(const std::string& host, const HttpPost& post) {
  return cat("POST ", post.target, " HTTP/1.1\r\nHost: ", host, "\r\nContent-Type: ", post.type,
             "\r\nContent-Length: ", post.body.size(), "\r\nConnection: close\r\n\r\n", post.body);
}

std::string http_response_text(const HttpResponse& response, bool head_only, bool keep_alive) {
  http::response<http::string_body> message(static_cast<http::status>(response.status), 11);
  message.set(http::field::content_type, response.type);
  message.set(http::field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
  // A page may run its own script and ask this server, and nothing from anywhere else.
  message.set(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
      "frame-ancestors 'none'");
  if (response.status == 405) message.set(http::field::allow, response.allow);
  if (response.status == 401) {
    message.insert(http::field::www_authenticate, "Bearer realm=\"pskit\"");
    if (response.takes_password) message.insert(http::field::www_authenticate, "Basic realm=\"pskit\"");
  }
  message.keep_alive(keep_alive);
  message.body() = response.body;
  message.prepare_payload();
  // `split` makes the serializer end a buffer behind the header, at which an answer to HEAD stops, although
  // its header has the length of the body.
  http::response_serializer<http::string_body> serializer(message);
  serializer.split(true);
  std::string out;
  boost::system::error_code error;
  while (!error && !serializer.is_done() && !(head_only && serializer.is_header_done())) {
    serializer.next(error, [&](boost::system::error_code&, const auto& buffers) {
      for (auto buffer : boost::beast::buffers_range_ref(buffers)) {
        out.append(static_cast<const char*>(buffer.data()), buffer.size());
      }
      serializer.consume(boost::beast::buffer_bytes(buffers));
    });
  }
  PS_CHECK(!error);
  return out;
}

}  // namespace ps
