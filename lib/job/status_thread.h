// StatusThread: the status pages of a server, on a port and a thread of their own.  Used by serve_job.
#ifndef PS_JOB_STATUS_THREAD_H_
#define PS_JOB_STATUS_THREAD_H_

#include <string>
#include <thread>
#include <vector>

#include "net/network.h"
#include "net/secure_transport.h"
#include "ps/status/status_service.h"

namespace ps {

// Made and ended on the owner's thread.
class StatusThread {
 public:
  // Listens and answers from now on; throws as Transport::listen does.  The boards outlive this.
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
    network_->loop().post([this, credentials] { transport_.set_credentials(credentials); });
  }

 private:
  void work();

  const std::unique_ptr<Transport> network_ = make_network();
  SecureTransport transport_;
  StatusService service_;
  HttpServer server_;
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_JOB_STATUS_THREAD_H_
