#include "membership/etcd_transport.h"

#include <utility>

#include "base/error.h"

namespace ps {

static std::shared_ptr<const TlsContext> read_context(const TlsFiles& files) {
  return std::make_shared<TlsContext>(files, TlsSide::kClient);
}

EtcdTransport::EtcdTransport(const TlsFiles& files) : files_(files) {
  if (files.certificate.empty() != files.key.empty()) {
    fail(Code::kUsage, "--etcd-cert and --etcd-key belong together");
  }
  if (!files.authority.empty()) {
    tls_.emplace(*network_, TlsContexts{.server = nullptr, .client = read_context(files)});
  } else if (!files.certificate.empty()) {
    fail(Code::kUsage, "--etcd-cert: etcd is known by the authority in --etcd-ca, which is missing");
  }
}

std::unique_ptr<ConnectAttempt> EtcdTransport::connect(const Address& address, Duration timeout,
                                                       OnConnect on_connect) {
  if (!tls_) return network_->connect(address, timeout, std::move(on_connect));
  renew();
  return tls_->connect(address, timeout, std::move(on_connect));
}

// Reads the files again before each connection, so that certificates may be replaced while the process
// runs.
void EtcdTransport::renew() {
  try {
    tls_->set_contexts({.server = nullptr, .client = read_context(files_)});
  } catch (const Error&) {
    // The old contexts stay in use.
  }
}

}  // namespace ps
