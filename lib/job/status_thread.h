// StatusThread: the status pages of a server or a trainer, and the requests of its operators, on a port and a thread of
// their own.  Used by serve_job and RunPage.
#ifndef PS_JOB_STATUS_THREAD_H_
#define PS_JOB_STATUS_THREAD_H_

#include <functional>
#include <thread>
#include <vector>

#include "job/operator_requests.h"
#include "net/auth/http_token.h"
#include "net/http/http_server.h"
#include "net/secure_transport.h"
#include "ps/status/status_service.h"

namespace ps {

// The functions are called on the thread of the pages, if they do not say otherwise.
struct StatusPages {
  std::function<HttpResponse(const HttpRequest&)> answer;
  std::function<void()> count_refusal;  // counts a request that was refused for its wrong token
  // Returns why this program does not do this request; an empty text means that it does.
  std::function<std::string(OperatorRequest)> why_not;
  std::function<void()> end = [] {};  // from now on the pages report that it is not ready; any thread
};

// The owner's thread makes and destroys it.
class StatusThread {
 public:
  // Makes the pages on a loop that outlives them.
  using MakePages = std::function<StatusPages(Loop&)>;

  // Listens and answers from now on.  If the credentials have tokens, pages are only answered to requests with a
  // token of kStatusAccess.  Operators need one of Access::kAdmin; without tokens there are none.  `operators` gets
  // what they ask for, and outlives this.  Throws as Transport::listen does.
  StatusThread(const Address& address, const Credentials& credentials, const HandshakeOptions& handshakes,
               OperatorRequests& operators, const MakePages& make_pages);
  ~StatusThread();
  StatusThread(const StatusThread&) = delete;
  StatusThread& operator=(const StatusThread&) = delete;

  uint16_t port() const { return server_.address().port; }

  // From now on the pages report that the server is not ready.
  void end() { pages_.end(); }

  // Sets the credentials of later connections.
  void set_credentials(const Credentials& credentials) {
    transport_->loop().post([this, credentials] {
      transport_->set_credentials(without_tokens(credentials));
      tokens_ = credentials.tokens;
    });
  }

 private:
  // Removes the tokens, which are sent over HTTP and not at the transport.
  static Credentials without_tokens(Credentials credentials) {
    credentials.tokens.clear();
    return credentials;
  }

  HttpResponse answer(const HttpRequest& request);
  std::optional<HttpResponse> refuse_stranger(const HttpRequest& request, Access needed);
  HttpResponse answer_operator(OperatorRequest asked, const std::string& peer);
  void work();

  const std::unique_ptr<SecureTransport> transport_;
  const HandshakeOptions handshakes_;
  const bool encrypted_;
  OperatorRequests& operators_;
  std::vector<Token> tokens_;
  const StatusPages pages_;
  HttpServer server_;
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_JOB_STATUS_THREAD_H_
