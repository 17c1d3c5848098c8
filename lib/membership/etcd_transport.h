// EtcdTransport: the connections of this process to etcd, over TLS if a certificate authority is given.  Used
// by ServerFinder and EtcdFence.
#ifndef PS_MEMBERSHIP_ETCD_TRANSPORT_H_
#define PS_MEMBERSHIP_ETCD_TRANSPORT_H_

#include <memory>
#include <optional>

#include "net/network.h"
#include "net/tls/tls_transport.h"

namespace ps {

// One owner thread.  The files are read again for each connection, so that certificates may be renewed while
// the process runs.  While files that are being replaced do not match each other, the former ones stay in use.
class EtcdTransport final : public Transport {
 public:
  // Without an authority, connections to etcd are not encrypted.  Throws kUsage when a file is not valid, and
  // when a certificate is given without an authority.
  explicit EtcdTransport(const TlsFiles& files);

  Loop& loop() override { return network_->loop(); }
  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) override {
    return network_->listen(address, std::move(on_accept));
  }
  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) override;

 private:
  void renew();

  const std::unique_ptr<Transport> network_ = make_network();
  const TlsFiles files_;
  std::optional<TlsTransport> tls_;
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_ETCD_TRANSPORT_H_
