#include "job/status_thread.h"

#include <exception>

#include "base/start_thread.h"

namespace ps {

// The thread starts last, when the pages and the server that it uses are made.
StatusThread::StatusThread(const Address& address, const Credentials& credentials,
                           const HandshakeOptions& handshakes, OperatorRequests& operators,
                           const MakePages& make_pages)
    : transport_(make_secure_network(without_tokens(credentials), handshakes)),
      handshakes_(handshakes),
      encrypted_(credentials.tls.server != nullptr),
      operators_(operators),
      tokens_(credentials.tokens),
      pages_(make_pages(transport_->loop())),
      server_(*transport_, address, HttpOptions(),
              [this](const HttpRequest& request) { return answer(request); }),
      thread_(start_thread([this] { work(); })) {}

// Answers a request.  The path decides which token is needed, and only then its method counts.
HttpResponse StatusThread::answer(const HttpRequest& request) {
  const std::optional<OperatorRequest> asked = parse_operator_request(request.path);
  if (auto refusal = refuse_stranger(request, asked ? Access::kAdmin : kStatusAccess)) return *refusal;
  if (asked && !request.post) return {.status = 405, .body = "only POST is answered here\n", .allow = "POST"};
  if (!asked && request.post) return {.status = 405, .body = "only GET and HEAD are answered here\n"};
  return asked ? answer_operator(*asked, request.peer) : pages_.answer(request);
}

// Returns the answer to a request without the token that it needs.  One without any token is told how to show it; one with
// a wrong token is delayed, so that guessing is slow.
std::optional<HttpResponse> StatusThread::refuse_stranger(const HttpRequest& request, Access needed) {
  if (tokens_.empty()) return std::nullopt;
  const ShownToken shown = check_http_token(request.authorization, tokens_, needed);
  if (shown == ShownToken::kRight) return std::nullopt;
  const bool shows_page = needed == kStatusAccess;
  HttpResponse refusal{
      .status = 401,
      .body = cat(shows_page ? "the pages are shown to" : "requests are taken from",
                  " those who send a token for '", access_name(needed), "': ps-security(7)\n"),
      .takes_password = shows_page};
  if (shown == ShownToken::kNone) return refusal;
  pages_.count_refusal();
  handshakes_.on_refused(request.peer, Error(Code::kAuthentication, "it showed a wrong token"));
  refusal.delay = handshakes_.refusal_delay;
  return refusal;
}

// Without a token file nobody is an operator, not even on this machine: a web page in any browser here could send the
// request.  The token also grants what trainers may do, so it must not have come over a network in the clear.
HttpResponse StatusThread::answer_operator(OperatorRequest asked, const std::string& peer) {
  if (tokens_.empty()) {
    return {.status = 403,
            .body =
                "requests are taken from those who send a token for 'admin': give --token-file: "
                "ps-security(7)\n"};
  }
  if (!encrypted_ && !is_loopback_peer(peer)) {
    return {.status = 403,
            .body =
                "a token for 'admin' is not taken from other machines in the clear, and others may have it "
                "now: replace it, and give --tls-cert: ps-security(7)\n"};
  }
  if (asked != OperatorRequest::kEnd && operators_.ends()) return {.status = 409, .body = "it is ending\n"};
  if (const std::string why = pages_.why_not(asked); !why.empty()) return {.status = 409, .body = why + "\n"};
  operators_.add(asked, peer);
  return {.status = 202,
          .type = "application/json",
          .body = cat("{\"asked\":\"", operator_request_name(asked), "\"}\n")};
}

// Runs the loop.  An exception, most likely because memory is exhausted, ends the answer in which it was
// thrown, and the pages go on.  The connection of that answer ends at its deadline.
void StatusThread::work() {
  for (;;) {
    try {
      return transport_->loop().run();
    } catch (const std::exception&) {
      continue;
    }
  }
}

StatusThread::~StatusThread() {
  transport_->loop().stop();
  thread_.join();
}

}  // namespace ps
