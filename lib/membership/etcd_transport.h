// EtcdTransport: the network on which etcd is asked, a process's own, over TLS where there is an authority for it.  Used by
// ServerFinder and EtcdFence.
#ifndef PS_MEMBERSHIP_ETCD_TRANSPORT_H_
#define PS_MEMBERSHIP_ETCD_TRANSPORT_H_

#include <memory>
#include <optional>

#include "net/network.h"
#include "net/tls/tls_transport.h"

namespace ps {

// One owner thread.  The files are read again for each connection, so that certificates may be renewed while this runs; those
// that do not fit each other, as they are being replaced, change nothing.
class EtcdTransport final : public Transport {
 public:
  // Without an authority, etcd is asked in the clear.  Throws kUsage when the files are not what they should be, or a
  // certificate is given without an authority.
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
