#include "job/status_thread.h"

#include <exception>

#include "base/start_thread.h"

namespace ps {

// The thread starts last, when the pages and the server that it uses are made.
StatusThread::StatusThread(const Address& address, const Credentials& credentials,
                           const HandshakeOptions& handshakes, const MakePages& make_pages)
    : transport_(make_secure_network(without_tokens(credentials), handshakes)),
      handshakes_(handshakes),
      tokens_(credentials.tokens),
      pages_(make_pages(transport_->loop())),
      server_(*transport_, address, HttpOptions(),
              [this](const HttpRequest& request) { return answer(request); }),
      thread_(start_thread([this] { work(); })) {}

// Answers a request.  The answer to a request without a token says how to get one; one with a wrong token is
// delayed, so that guessing is slow.
HttpResponse StatusThread::answer(const HttpRequest& request) {
  if (request.post) return {.status = 405, .body = "only GET and HEAD are answered here\n"};
  if (tokens_.empty()) return pages_.answer(request);
  const ShownToken shown = check_http_token(request.authorization, tokens_, kStatusAccess);
  if (shown == ShownToken::kRight) return pages_.answer(request);
  HttpResponse refusal{
      .status = 401, .body = "the pages are shown to those who send a token for 'status': ps-security(7)\n"};
  if (shown == ShownToken::kNone) return refusal;
  pages_.count_refusal();
  handshakes_.on_refused(request.peer, Error(Code::kAuthentication, "it showed a wrong token"));
  refusal.delay = handshakes_.refusal_delay;
  return refusal;
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
