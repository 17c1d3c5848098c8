// StatusThread: the status pages of a server, on a port and a thread of their own.  Used by serve_job.
#ifndef PS_JOB_STATUS_THREAD_H_
#define PS_JOB_STATUS_THREAD_H_

#include <string>
#include <thread>
#include <vector>

#include "net/auth/http_token.h"
#include "net/network.h"
#include "net/secure_transport.h"
#include "ps/status/status_service.h"

namespace ps {

// Made and ended on the owner's thread.
class StatusThread {
 public:
  // Listens and answers from now on, if the credentials have tokens only to those who show one of kStatusAccess; throws as
  // Transport::listen does.  The boards outlive this.
  StatusThread(const Address& address, const Credentials& credentials, const HandshakeOptions& handshakes,
               const StatusFacts& facts, std::vector<const StatusBoard*> boards);
  ~StatusThread();
  StatusThread(const StatusThread&) = delete;
  StatusThread& operator=(const StatusThread&) = delete;

  uint16_t port() const { return server_.address().port; }

  // From now on the server is not ready.
  void end() { service_.end(); }

  // For connections from now on.
  void set_credentials(const Credentials& credentials) {
    network_->loop().post([this, credentials] {
      transport_.set_credentials(without_tokens(credentials));
      tokens_ = credentials.tokens;
    });
  }

 private:
  // Tokens are shown over HTTP, which the transport knows nothing of.
  static Credentials without_tokens(Credentials credentials) {
    credentials.tokens.clear();
    return credentials;
  }

  HttpResponse answer(const HttpRequest& request);
  void work();

  const std::unique_ptr<Transport> network_ = make_network();
  SecureTransport transport_;
  const HandshakeOptions handshakes_;
  std::vector<Token> tokens_;
  StatusService service_;
  HttpServer server_;
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_JOB_STATUS_THREAD_H_
